package form

// HasFormat is what texts of a format are held to.
var HasFormat = hasFormat
