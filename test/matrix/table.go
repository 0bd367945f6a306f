// Package matrix puts every real client at every real server, through the
// gateway, and has everything happen between them that can: that is in its
// tests, with the build tag matrix. What is here makes the table of it, for
// docs/compatibility.md.
//
// It is not for what needs no pair of real peers: see test/e2e.
package matrix

import (
	"fmt"
	"slices"
	"strings"
)

const (
	begin = "<!-- matrix: begin -->\n"
	end   = "<!-- matrix: end -->\n"
)

// cell is what happened between one client and one server.
type cell struct {
	passed  []string
	excused []string // happenings, each in the note of the same index
	notes   []string // reasons
	failed  []string
}

// table is what happened between all of them.
type table struct {
	clients, servers, happenings []string
	cells                        map[[2]string]*cell // by client and server
}

func newTable(clients, servers, happenings []string) *table {
	t := &table{clients: clients, servers: servers, happenings: happenings, cells: make(map[[2]string]*cell)}
	for _, c := range clients {
		for _, s := range servers {
			t.cells[[2]string{c, s}] = &cell{}
		}
	}
	return t
}

func (t *table) at(client, server string) *cell { return t.cells[[2]string{client, server}] }

// markdown gives the page's part: rows are clients, columns servers, and under
// them the reason of each excuse.
func (t *table) markdown() string {
	var b strings.Builder
	for i, h := range t.happenings {
		fmt.Fprintf(&b, "%d %s%s", i+1, h, map[bool]string{true: ".\n\n", false: ", "}[i == len(t.happenings)-1])
	}
	b.WriteString("| |")
	for _, s := range t.servers {
		fmt.Fprintf(&b, " %s |", s)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(t.servers)) + "\n")
	var notes []string
	for _, c := range t.clients {
		fmt.Fprintf(&b, "| %s |", c)
		for _, s := range t.servers {
			at := t.at(c, s)
			text := []string{t.numbers(at.passed)}
			for i, h := range at.excused {
				n := slices.Index(notes, at.notes[i])
				if n < 0 {
					n = len(notes)
					notes = append(notes, at.notes[i])
				}
				text = append(text, fmt.Sprintf("~~%d~~<sup>%c</sup>", slices.Index(t.happenings, h)+1, 'a'+n))
			}
			if len(at.failed) > 0 {
				text = append(text, "**fails: "+t.numbers(at.failed)+"**")
			}
			fmt.Fprintf(&b, " %s |", strings.Join(slices.DeleteFunc(text, func(s string) bool { return s == "" }), "; "))
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	for i, n := range notes {
		fmt.Fprintf(&b, "- <sup>%c</sup> %s\n", 'a'+i, n)
	}
	return b.String()
}

// numbers gives happenings as a list of their numbers, runs of them as 3-5.
func (t *table) numbers(list []string) string {
	var nums []int
	for _, h := range list {
		nums = append(nums, slices.Index(t.happenings, h)+1)
	}
	slices.Sort(nums)
	var parts []string
	for i := 0; i < len(nums); {
		j := i
		for j+1 < len(nums) && nums[j+1] == nums[j]+1 {
			j++
		}
		if j == i {
			parts = append(parts, fmt.Sprint(nums[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", nums[i], nums[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

// splice puts a text between the markers of a page.
func splice(page, text string) (string, error) {
	i, j := strings.Index(page, begin), strings.Index(page, end)
	if i < 0 || j < i {
		return "", fmt.Errorf("the page has no %q before %q", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return page[:i+len(begin)] + text + page[j:], nil
}

// plain gives the table for a terminal: one line for each client and server.
func (t *table) plain() string {
	var b strings.Builder
	for i, h := range t.happenings {
		fmt.Fprintf(&b, "%3d %s\n", i+1, h)
	}
	for _, c := range t.clients {
		for _, s := range t.servers {
			at := t.at(c, s)
			fmt.Fprintf(&b, "%-22s %-31s passed %-12s", c, s, t.numbers(at.passed))
			if len(at.excused) > 0 {
				fmt.Fprintf(&b, " excused %s", t.numbers(at.excused))
			}
			if len(at.failed) > 0 {
				fmt.Fprintf(&b, " FAILED %s", t.numbers(at.failed))
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}
