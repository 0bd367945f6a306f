package catalog

// List is one of the lists that MCP servers offer. The zero List is none.
type List uint8

// The four lists.
const (
	Tools List = iota + 1
	Prompts
	Resources
	Templates
)

const lastList = Templates

// lists has what MCP calls things, by List. The two resource lists share one
// notification.
var lists = [lastList + 1]struct {
	method, member, key, changed, noun string
}{
	Tools:     {"tools/list", "tools", "name", "notifications/tools/list_changed", "tool"},
	Prompts:   {"prompts/list", "prompts", "name", "notifications/prompts/list_changed", "prompt"},
	Resources: {"resources/list", "resources", "uri", "notifications/resources/list_changed", "resource"},
	Templates: {"resources/templates/list", "resourceTemplates", "uriTemplate", "notifications/resources/list_changed", "resource template"},
}

// ByMethod gives the list that a request method asks for, 0 for any other method.
func ByMethod(method string) List {
	for l := Tools; l <= lastList; l++ {
		if lists[l].method == method {
			return l
		}
	}
	return 0
}

// ByChanged gives the list that a notification says has changed, 0 for any
// other notification. It is Resources for the one that stands for Templates too.
func ByChanged(method string) List {
	for l := Tools; l <= lastList; l++ {
		if lists[l].changed == method {
			return l
		}
	}
	return 0
}

// Method is the request that asks for the list, such as "tools/list".
func (l List) Method() string { return lists[l.known()].method }

// Member is the member of the result that holds the items, such as "tools".
func (l List) Member() string { return lists[l.known()].member }

// Changed is the notification that says the list has changed.
func (l List) Changed() string { return lists[l.known()].changed }

// String gives the list's name as it stands in logs and metrics.
func (l List) String() string {
	if l.known() == 0 {
		return "none"
	}
	return lists[l].member
}

// key is the member of an item by which it is known.
func (l List) key() string { return lists[l.known()].key }

// noun is what a person calls one item.
func (l List) noun() string { return lists[l.known()].noun }

// named reports whether items are known by a name, which can be prefixed,
// rather than by a URI, which is never touched.
func (l List) named() bool { return l == Tools || l == Prompts }

// known is l, or 0 for a value that is no list.
func (l List) known() List {
	if l > lastList {
		return 0
	}
	return l
}
