package page

// The parts of the page of a person, by their paths.
const (
	tabWaiting  = "/"
	tabHistory  = "/history"
	tabAccounts = "/connections"
)

// tab is a link to one of them.
type tab struct {
	Path string
	Name string
	Here bool
}

func (h *Handler) tabs(here string) []tab {
	all := []tab{{tabWaiting, "Waiting", here == tabWaiting}, {tabHistory, "History", here == tabHistory}}
	if h.cfg.Accounts != nil {
		all = append(all, tab{tabAccounts, "Accounts", here == tabAccounts})
	}
	return all
}
