package webguard

import (
	"net"
	"net/netip"
	"strconv"
	"testing"
	"testing/synctest"
)

// accepted starts to accept, and gives the connections that are let in.
func accepted(t *testing.T, ln net.Listener) <-chan net.Conn {
	in := make(chan net.Conn, 1000)
	go func() {
		defer close(in)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			in <- c
		}
	}()
	t.Cleanup(func() {
		ln.Close()
		for c := range in {
			c.Close()
		}
	})
	return in
}

// closed reports whether the other end closed the connection.
func closed(c net.Conn) bool {
	synctest.Wait()
	done := make(chan bool, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		done <- err != nil
	}()
	synctest.Wait()
	select {
	case is := <-done:
		return is
	default:
		c.Close()
		<-done
		return false
	}
}

func TestAttackConnectionFlood(t *testing.T) {
	for name, c := range map[string]struct {
		peer           func(i int) string
		total, perPeer int
		let            int
	}{
		"control: as many as there may be": {func(i int) string { return "203.0.113." + strconv.Itoa(i) }, 20, 1, 20},
		"from everywhere":                  {func(i int) string { return "203.0.113." + strconv.Itoa(i) }, 7, 1, 7},
		"from one peer":                    {func(int) string { return "203.0.113.1" }, 20, 3, 3},
		"from one peer, mapped":            {func(i int) string { return []string{"203.0.113.1", "::ffff:203.0.113.1"}[i%2] }, 20, 3, 3},
		"from one IPv6 network":            {func(i int) string { return "2001:db8:5:6::" + strconv.Itoa(i+1) }, 20, 3, 3},
		"control: from IPv6 networks":      {func(i int) string { return "2001:db8:5:" + strconv.Itoa(i) + "::1" }, 20, 3, 20},
		"control: loopback":                {func(int) string { return "127.0.0.1" }, 20, 3, 20},
		"control: IPv6 loopback":           {func(int) string { return "::1" }, 20, 3, 20},
		"control: a trusted proxy":         {func(int) string { return "10.1.2.3" }, 20, 3, 20},
		"loopback over the total":          {func(int) string { return "127.0.0.1" }, 5, 3, 5},
		"a trusted proxy over the total":   {func(int) string { return "10.1.2.3" }, 5, 3, 5},
		"control: defaults":                {func(int) string { return "203.0.113.1" }, 0, 0, 20},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				in := accepted(t, newGuard(t, nil).Listener(m, c.total, c.perPeer))
				let := 0
				for i := range 20 {
					client := m.dial(peerAt(c.peer(i)))
					if !closed(client) {
						let++
					}
					client.Close()
				}
				if let != c.let || len(in) != c.let {
					t.Errorf("%d connections were let in, %d handed on; want %d", let, len(in), c.let)
				}
			})
		})
	}
}

// Whoever is within the limits gets in while others flood, and a place that
// was given back can be taken again.
func TestFloodKeepsNobodyElseOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		ln := newGuard(t, nil).Listener(m, 100, 2).(*listener)
		in := accepted(t, ln)
		var mine []net.Conn
		for range 50 {
			m.dial(peerAt("203.0.113.1")).Close()
			synctest.Wait()
		}
		for range 2 {
			mine = append(mine, <-in)
		}
		m.dial(peerAt("203.0.113.2")).Close()
		other := <-in
		for _, c := range mine {
			c.Close()
			c.Close() // gives one place back, not two
		}
		m.dial(peerAt("203.0.113.1")).Close()
		again := <-in
		again.Close()
		other.Close()
		if ln.open != 0 || len(ln.peers) != 0 {
			t.Errorf("%d open, %d peers are remembered", ln.open, len(ln.peers))
		}
	})
}

func TestListenerCountsOnlyAddresses(t *testing.T) {
	ln := newGuard(t, nil).Listener(newMemory(), 1, 1).(*listener)
	if key := ln.key(&net.UnixAddr{Name: "x"}); key.IsValid() {
		t.Errorf("a Unix peer counts as %s", key)
	}
	if key := ln.key(&net.TCPAddr{IP: net.ParseIP("fe80::1"), Zone: "eth0"}); key != netip.MustParseAddr("fe80::") {
		t.Errorf("got %s", key)
	}
}

type half struct {
	net.Conn
	closed bool
}

func (h *half) CloseWrite() error { h.closed = true; return nil }

func TestConnectionsCloseByHalves(t *testing.T) {
	h := &half{}
	if err := (&conn{Conn: h}).CloseWrite(); err != nil || !h.closed {
		t.Errorf("%v, %v", err, h.closed)
	}
	if err := (&conn{Conn: &addressed{}}).CloseWrite(); err != nil {
		t.Error(err)
	}
}
