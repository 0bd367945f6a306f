package form

import (
	"slices"
	"strings"
	"unicode"
)

// Sensitive names the fields of a requestedSchema that ask for a secret: a
// password, a token, a key, the number of a card. It goes by what the field is
// called and how it is described, so it is a guess, kept conservative both
// ways by these rules:
//
//   - Only strings can be secrets, and numbers where the secret is one (card
//     numbers, PINs, one-time codes). Choices and yes-or-no answers cannot.
//
//   - A format of "password" and writeOnly always mean a secret.
//
//   - The words of the name and of the title are searched for words that mean
//     a secret by themselves (password, passphrase, secret, cvv, …) and for
//     pairs that do together (api key, access token, card number, …). A name
//     that ends in what is no secret about a secret (token_type, key_name,
//     password_hint, secret_id) does not count.
//
//   - The description is searched for the same, sentence by sentence, up to
//     the first word of a sentence that says no (never, not, without, instead).
//
//   - Where the message asks for a secret, a text field whose name says nothing
//     (value, answer, input) is meant by it.
//
// Fields inside other objects, which MCP does not allow, are looked at as
// well: they are named by their path. A schema that cannot be read has no
// fields to name. Names come in the order of the schema.
func Sensitive(requestedSchema []byte, message string) []string {
	n, err := parseJSON(requestedSchema, MaxDefinition)
	if err != nil {
		return nil
	}
	s := secrets{message: SensitiveText(message)}
	s.walk(&n, "")
	return s.found
}

// secrets are the fields of a schema that ask for one.
type secrets struct {
	message bool // the message asks for one
	found   []string
}

// walk looks at the properties of a schema and of all schemas in it.
func (s *secrets) walk(n *node, path string) {
	for i := range n.items {
		s.walk(&n.items[i], path)
	}
	for i := range n.members {
		m := &n.members[i]
		if m.name != "properties" {
			s.walk(&m.value, path)
			continue
		}
		for j := range m.value.members {
			of := &m.value.members[j]
			at := of.name
			if path != "" {
				at = path + "." + at
			}
			if s.asksFor(of) {
				s.found = append(s.found, at)
			}
			s.walk(&of.value, at)
		}
	}
}

// asksFor judges one property.
func (s *secrets) asksFor(m *member) bool {
	text := func(key string) string {
		if t := m.value.member(key); t != nil && t.kind == stringNode {
			return t.text
		}
		return ""
	}
	if slices.ContainsFunc([]string{"enum", "oneOf", "anyOf"}, func(key string) bool { return m.value.member(key) != nil }) {
		return false
	}
	writeOnly := m.value.member("writeOnly")
	return writeOnly != nil && writeOnly.flag ||
		secretField(m.name, text("title"), text("description"), text("format"), text("type")) ||
		s.message && (text("type") == "string" || text("type") == "") && saysNothing(m.name, text("title"))
}

// saysNothing reports whether a field's name and title leave it to the message
// what the field is for.
func saysNothing(name, title string) bool {
	for _, w := range append(words(name), words(title)...) {
		if !slices.Contains(emptyWords, w) && !slices.Contains(fillers, w) {
			return false
		}
	}
	return true
}

// SensitiveText reports whether a text that is put to a person, such as the
// message of an elicitation, asks for a secret. The rules are those that
// [Sensitive] has for descriptions.
func SensitiveText(text string) bool { return secretSentences(text, false) }

func secretField(name, title, description, format, kind string) bool {
	if format == "password" {
		return true
	}
	number := kind == "number" || kind == "integer"
	if !number && kind != "string" && kind != "" {
		return false
	}
	return secretName(words(name), number) || secretName(words(title), number) || secretSentences(description, number)
}

var (
	// secretWords mean a secret by themselves.
	secretWords = []string{
		"password", "passwords", "passwd", "passwort", "passphrase", "passcode", "pwd", "secret", "secrets", "apikey", "apitoken",
		"accesstoken", "authtoken", "privatekey", "secretkey", "credential", "credentials", "cvv", "cvc", "cvv2", "otp", "totp", "ssn",
		"mnemonic", "pat", "jwt", "cardnumber", "creditcard", "kennwort", "contraseña", "senha",
	}
	// secretNumbers mean a secret also where a number is asked for.
	secretNumbers = []string{"cvv", "cvc", "cvv2", "otp", "totp", "ssn", "pin", "cardnumber", "passcode"}
	// secretPairs mean a secret when the second follows the first, with at
	// most one word between.
	secretPairs = map[string][]string{
		"api":           {"key", "keys", "token", "secret"},
		"access":        {"key", "token"},
		"auth":          {"key", "token"},
		"bearer":        {"token"},
		"refresh":       {"token"},
		"session":       {"token", "cookie"},
		"id":            {"token"},
		"bot":           {"token"},
		"private":       {"key"},
		"secret":        {"key"},
		"signing":       {"key"},
		"encryption":    {"key"},
		"ssh":           {"key"},
		"license":       {"key"},
		"service":       {"key"},
		"account":       {"key"},
		"client":        {"secret"},
		"webhook":       {"secret"},
		"pass":          {"word", "phrase", "code"},
		"connection":    {"string"},
		"recovery":      {"code", "codes", "phrase", "key"},
		"backup":        {"code", "codes"},
		"seed":          {"phrase"},
		"security":      {"code"},
		"verification":  {"code"},
		"authenticator": {"code"},
		"time":          {"code", "password"},
		"pin":           {"code", "number"},
		"card":          {"number", "code"},
		"credit":        {"card"},
		"debit":         {"card"},
		"social":        {"number"},
		"personal":      {"token"},
		"mot":           {"passe"},
	}
	// numberPairs begin the pairs that mean a secret also where a number is
	// asked for.
	numberPairs = []string{"card", "credit", "debit", "pin", "security", "verification", "time", "social", "authenticator"}
	// secretAlone mean a secret when they are the whole name.
	secretAlone = []string{"pin", "token", "key", "pass", "auth", "authorization", "bearer"}
	// fillers before a name add nothing to it.
	fillers = []string{"your", "my", "the", "user", "x"}
	// otherTokens come before tokens that are no secrets.
	otherTokens = []string{"max", "min", "next", "page", "cancel", "cancellation", "continuation", "last", "first", "num"}
	// aboutSecrets end the name of something that is no secret.
	aboutSecrets = []string{
		"name", "id", "ids", "type", "kind", "hint", "policy", "length", "count", "limit", "expiry", "expiration", "expires", "label",
		"url", "uri", "path", "location", "size", "rotation", "age", "format", "field", "manager", "prefix", "provider", "scope", "scopes",
		"algorithm", "usage", "budget", "brand", "holder", "title", "description", "store", "enabled", "required",
	}
	// emptyWords name a field without saying what it is for.
	emptyWords = []string{"value", "answer", "input", "response", "reply", "text", "content", "data", "field", "result", "string", "it", "here", "enter"}
	negations  = []string{"no", "not", "never", "without", "instead", "don", "doesn", "won", "cannot", "avoid", "rather"}
)

// words splits a name or a text into words in small letters: at everything
// that is no letter or digit, and inside camelCase.
func words(s string) []string {
	var out []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	runes := []rune(s)
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush()
			continue
		}
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsUpper(runes[i-1]) && unicode.IsLower(runes[i+1])) {
			flush()
		}
		word = append(word, r)
	}
	flush()
	return out
}

// secretName judges the words of a name or title.
func secretName(w []string, number bool) bool {
	if len(w) == 0 || slices.Contains(aboutSecrets, w[len(w)-1]) {
		return false
	}
	last, before := w[len(w)-1], ""
	if len(w) > 1 {
		before = w[len(w)-2]
	}
	if len(w) == 1 || len(w) == 2 && slices.Contains(fillers, before) {
		if slices.Contains(secretAlone, last) && (!number || last == "pin") {
			return true
		}
	}
	// "github_token" is one; "tokens" and "max_token" count something.
	if !number && last == "token" && !slices.Contains(otherTokens, before) {
		return true
	}
	return secretIn(w, number)
}

// secretIn searches words for secret ones and secret pairs.
func secretIn(w []string, number bool) bool {
	for i, word := range w {
		if number {
			if slices.Contains(secretNumbers, word) && (word != "pin" || len(w) <= 2) {
				return true
			}
		} else if slices.Contains(secretWords, word) {
			return true
		}
		if number && !slices.Contains(numberPairs, word) {
			continue
		}
		for _, second := range w[i+1 : min(len(w), i+3)] {
			if slices.Contains(secretPairs[word], second) {
				return true
			}
		}
	}
	return false
}

// secretSentences judges a text.
func secretSentences(text string, number bool) bool {
	for sentence := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(".!?;:()\n", r) }) {
		w := words(sentence)
		if no := slices.IndexFunc(w, func(s string) bool { return slices.Contains(negations, s) }); no >= 0 {
			w = w[:no]
		}
		if secretIn(w, number) {
			return true
		}
	}
	return false
}
