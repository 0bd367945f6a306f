package webguard

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
)

// How many connections are open at once where nobody says otherwise.
const (
	DefaultConns        = 10_000
	DefaultConnsPerPeer = 512
)

// Listener limits the connections that are open at once on ln, in all and per
// peer; a limit that is not positive is the default. A connection over a limit
// is closed at once, without a word, so that those who are within it are never
// kept waiting. Loopback peers and trusted proxies, behind which there are
// many, have no limit of their own. Peers of one IPv6 /64 network are one: it
// is what one subscriber gets.
func (g *Guard) Listener(ln net.Listener, total, perPeer int) net.Listener {
	setDefault(&total, DefaultConns)
	setDefault(&perPeer, DefaultConnsPerPeer)
	return &listener{Listener: ln, g: g, total: total, perPeer: perPeer, peers: make(map[netip.Addr]int)}
}

type listener struct {
	net.Listener
	g              *Guard
	total, perPeer int

	mu    sync.Mutex
	open  int
	peers map[netip.Addr]int // none is 0
}

// Accept waits for a connection within the limits.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		key := l.key(c.RemoteAddr())
		if l.take(key) {
			return &conn{Conn: c, l: l, key: key}, nil
		}
		c.Close()
		l.g.log.info("connection refused: too many are open", "peer", c.RemoteAddr().String())
	}
}

// key gives what a peer is counted under, the zero Addr where it is not.
func (l *listener) key(a net.Addr) netip.Addr {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	addr := plain(tcp.AddrPort().Addr())
	if addr.IsLoopback() || l.g.isTrusted(addr) {
		return netip.Addr{}
	}
	if addr.Is6() {
		net64, _ := addr.Prefix(64) // fails for no IPv6 address
		return net64.Addr()
	}
	return addr
}

func (l *listener) take(key netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.total || key.IsValid() && l.peers[key] >= l.perPeer {
		return false
	}
	l.open++
	if key.IsValid() {
		l.peers[key]++
	}
	return true
}

func (l *listener) release(key netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if !key.IsValid() {
		return
	}
	if l.peers[key]--; l.peers[key] == 0 {
		delete(l.peers, key)
	}
}

// conn gives its place back when it is closed.
type conn struct {
	net.Conn
	l      *listener
	key    netip.Addr
	closed atomic.Bool
}

func (c *conn) Close() error {
	err := c.Conn.Close()
	if c.closed.CompareAndSwap(false, true) {
		c.l.release(c.key)
	}
	return err
}

// CloseWrite is how the server ends a connection on which the client is still
// sending, so that its last response is not lost.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
