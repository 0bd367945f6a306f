//go:build worlds

package worlds

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// The verbs of a script. An action is something that a person, client or
// backend does; a fault is something that happens to the gateway or a backend.
const (
	callVerb    = "call"    // client=K backend=B n=N: a client calls the tool that asks question N
	repeatVerb  = "repeat"  // n=N: a client that was told to call again makes call N once more
	answerVerb  = "answer"  // n=N by=client|page|api: question N is answered
	declineVerb = "decline" // n=N by=client|page|api|terminal
	cancelVerb  = "cancel"  // n=N: the client cancels its call
	leaveVerb   = "leave"   // n=N: the question is left alone, to expire
	connectVerb = "connect" // n=N: the person of call N, which waits for an account, connects one
	revokeVerb  = "revoke"  // person=P: the account is revoked

	killFault    = "kill"    // kill -9 of the gateway, and a start
	cutFault     = "cut"     // the power goes: what was not synced is lost
	restartFault = "restart" // SIGTERM, and a start
	serverFault  = "server"  // backend=B: the backend restarts and forgets its sessions
	reloadFault  = "reload"  // the configuration changes under the gateway
	rotateFault  = "rotate"  // a new key is put on top of the key ring, and a restart
	restoreFault = "restore" // the newest backup is restored, and a start
	backupVerb   = "backup"  // a backup is taken from the running gateway
	waitFault    = "wait"    // every time to live passes, and a kill
	armFault     = "arm"     // at=POINT: a kill, and a start of a gateway that dies at a point; for scripts
)

var (
	actionVerbs = []string{callVerb, repeatVerb, answerVerb, declineVerb, cancelVerb, leaveVerb, connectVerb, revokeVerb}
	faultVerbs  = []string{killFault, cutFault, restartFault, serverFault, reloadFault, rotateFault, restoreFault, waitFault}
)

// step is one line of a script.
type step struct {
	verb string
	args map[string]string
}

func (s step) String() string {
	keys := make([]string, 0, len(s.args))
	for k := range s.args {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	line := s.verb
	for _, k := range keys {
		line += " " + k + "=" + s.args[k]
	}
	return line
}

func (s step) fault() bool { return s.verb == armFault || slices.Contains(faultVerbs, s.verb) }

// plan is a world before it is played: who is there, and what happens.
type plan struct {
	seed     uint64
	lossy    bool     // the journal is on a disk that can lose power
	backends []string // kinds of backends
	clients  []string // kinds of clients; client i belongs to person i modulo people
	steps    []step
}

// people is how many people a world has.
const people = 3

// pair is a fault that comes right after an action.
type pair struct{ fault, action string }

// allPairs lists every pair that the worlds of a run must contain.
func allPairs() []pair {
	var all []pair
	for _, f := range faultVerbs {
		for _, a := range actionVerbs {
			all = append(all, pair{f, a})
		}
	}
	return all
}

// pairs counts the pairs of a plan.
func (p *plan) pairs() map[pair]int {
	found := map[pair]int{}
	for i := 1; i < len(p.steps); i++ {
		if p.steps[i].fault() && slices.Contains(actionVerbs, p.steps[i-1].verb) {
			found[pair{p.steps[i].verb, p.steps[i-1].verb}]++
		}
	}
	return found
}

// String gives the script of the plan. parse reads it back.
func (p *plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "world seed=%d lossy=%t backends=%s clients=%s\n", p.seed, p.lossy, strings.Join(p.backends, ","), strings.Join(p.clients, ","))
	for _, s := range p.steps {
		b.WriteString(s.String() + "\n")
	}
	return b.String()
}

func parse(script string) (*plan, error) {
	var p plan
	for i, line := range strings.Split(strings.TrimSpace(script), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		s := step{verb: words[0], args: map[string]string{}}
		for _, w := range words[1:] {
			k, v, ok := strings.Cut(w, "=")
			if !ok {
				return nil, fmt.Errorf("line %d: %q is not key=value", i+1, w)
			}
			s.args[k] = v
		}
		if s.verb != "world" {
			p.steps = append(p.steps, s)
			continue
		}
		if _, err := fmt.Sscan(s.args["seed"], &p.seed); err != nil {
			return nil, fmt.Errorf("line %d: seed: %w", i+1, err)
		}
		p.lossy = s.args["lossy"] == "true"
		p.backends, p.clients = strings.Split(s.args["backends"], ","), strings.Split(s.args["clients"], ",")
	}
	if len(p.backends) == 0 || len(p.clients) == 0 {
		return nil, fmt.Errorf("the script does not begin with a world")
	}
	return &p, nil
}

// minActions is how many actions a world has at least.
const minActions = 30

// generate makes the plan of a seed. Worlds of consecutive seeds share out the
// pairs among themselves: every pair is in one world of any span of them.
func generate(seed uint64, span int) *plan {
	rng := rand.New(rand.NewPCG(seed, 7))
	g := &generator{rng: rng, plan: &plan{seed: seed}}
	all := allPairs()
	var due []pair
	for i, p := range all {
		if uint64(i%span) == seed%uint64(span) {
			due = append(due, p)
		}
	}
	for len(due) < 3 {
		due = append(due, all[rng.IntN(len(all))])
	}
	rng.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
	g.plan.lossy = rng.IntN(3) == 0 || slices.ContainsFunc(due, func(p pair) bool { return p.fault == cutFault })

	g.plan.backends = []string{httpKind, keyedKind}
	others := []string{plainKind, stdioKind, modernKind, agentKind}
	rng.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	g.plan.backends = append(g.plan.backends, others[:1+rng.IntN(2)]...)
	kinds := []string{formsClient, linksClient, modernClient, eventsClient, agentClient}
	rng.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	// The mute client is in every world: identical calls are its own.
	g.plan.clients = append([]string{muteClient}, kinds[:2+rng.IntN(3)]...)

	for i, p := range due {
		for range 4 + rng.IntN(4) {
			g.action()
		}
		if i == len(due)/2 {
			g.add(step{verb: backupVerb})
			g.backed = true
		}
		if p.fault == restoreFault && !g.backed {
			g.add(step{verb: backupVerb})
			g.backed = true
		}
		g.do(p.action)
		g.fault(p.fault)
	}
	for g.actions < minActions {
		g.action()
		if rng.IntN(5) == 0 {
			fault := faultVerbs[rng.IntN(len(faultVerbs))]
			if fault == waitFault || fault == cutFault && !g.plan.lossy || fault == restoreFault {
				fault = killFault
			}
			g.fault(fault)
		}
	}
	return g.plan
}

// generator keeps track of what can happen next.
type generator struct {
	rng     *rand.Rand
	plan    *plan
	actions int
	backed  bool
	next    int     // number of the next call
	open    []entry // calls whose question may be open
	done    []entry // calls of mute clients that were answered
}

// entry is a call as the generator knows it.
type entry struct {
	n      int
	client int
	kind   string
	keyed  bool
}

func (g *generator) add(s step) {
	if slices.Contains(actionVerbs, s.verb) {
		g.actions++
	}
	g.plan.steps = append(g.plan.steps, s)
}

// action adds an action that fits the situation.
func (g *generator) action() {
	verbs := []string{callVerb, callVerb, callVerb, answerVerb, answerVerb, answerVerb, declineVerb, cancelVerb, leaveVerb, repeatVerb, connectVerb, revokeVerb}
	if len(g.open) == 0 {
		verbs = []string{callVerb}
	}
	if len(g.open) > 10 {
		verbs = []string{answerVerb, declineVerb}
	}
	g.do(verbs[g.rng.IntN(len(verbs))])
}

// do adds an action of a verb, and first what must be there for it.
func (g *generator) do(verb string) {
	switch verb {
	case callVerb:
		g.call(-1, "")
	case repeatVerb:
		if len(g.done) == 0 {
			e := g.call(0, httpKind)
			g.settle(answerVerb, e, "page")
		}
		e := g.done[g.rng.IntN(len(g.done))]
		g.add(step{repeatVerb, number(e.n)})
	case answerVerb, declineVerb:
		e := g.pick(false)
		by := []string{"page", "api"}
		if e.kind != muteClient && e.kind != linksClient {
			by = append(by, "client", "client")
		}
		if verb == declineVerb {
			by = append(by, "terminal")
		}
		g.settle(verb, e, by[g.rng.IntN(len(by))])
	case cancelVerb:
		e := g.pick(false)
		g.drop(e.n)
		g.add(step{cancelVerb, number(e.n)})
	case leaveVerb:
		e := g.pick(false)
		g.drop(e.n)
		g.add(step{leaveVerb, number(e.n)})
	case connectVerb:
		e := g.pick(true)
		g.drop(e.n)
		g.add(step{connectVerb, number(e.n)})
	case revokeVerb:
		g.add(step{revokeVerb, map[string]string{"person": fmt.Sprint(g.rng.IntN(people))}})
	}
}

func number(n int) map[string]string { return map[string]string{"n": fmt.Sprint(n)} }

// call adds a call of a client (any where it is negative) at a kind of backend
// (any where that is empty).
func (g *generator) call(client int, backend string) entry {
	if client < 0 {
		client = g.rng.IntN(len(g.plan.clients))
	}
	if backend == "" {
		backend = g.plan.backends[g.rng.IntN(len(g.plan.backends))]
	}
	e := entry{n: g.next, client: client, kind: g.plan.clients[client], keyed: backend == keyedKind}
	g.next++
	args := number(e.n)
	args["client"], args["backend"] = fmt.Sprint(client), backend
	g.add(step{callVerb, args})
	g.open = append(g.open, e)
	return e
}

// pick gives an open call, or makes one. A keyed one waits for an account.
func (g *generator) pick(keyed bool) entry {
	var fit []entry
	for _, e := range g.open {
		if e.keyed == keyed {
			fit = append(fit, e)
		}
	}
	if len(fit) == 0 {
		if keyed {
			return g.call(-1, keyedKind)
		}
		return g.call(-1, httpKind)
	}
	return fit[g.rng.IntN(len(fit))]
}

func (g *generator) settle(verb string, e entry, by string) {
	g.drop(e.n)
	args := number(e.n)
	args["by"] = by
	g.add(step{verb, args})
	if verb == answerVerb && e.kind == muteClient && !e.keyed {
		g.done = append(g.done, e)
	}
}

func (g *generator) drop(n int) {
	g.open = slices.DeleteFunc(g.open, func(e entry) bool { return e.n == n })
}

func (g *generator) fault(verb string) {
	s := step{verb: verb, args: map[string]string{}}
	switch verb {
	case serverFault:
		s.args["backend"] = g.plan.backends[g.rng.IntN(len(g.plan.backends))]
	case waitFault:
		g.open = nil // what is open expires
	}
	g.add(s)
}
