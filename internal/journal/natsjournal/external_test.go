package natsjournal

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/journal/journaltest"
)

// external starts a server as an operator would run it, with one user who has
// an nkey, and gives it with a configuration that reaches it.
func external(t *testing.T, change func(*server.Options, *Config)) (*server.Server, Config) {
	t.Helper()
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, _ := user.PublicKey()
	seed, _ := user.Seed()
	cfg := config(t)
	cfg.Dir, cfg.NKeyFile = "", write0600(t, "user.nk", seed)
	opts := &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: t.TempDir(),
		Nkeys: []*server.NkeyUser{{Nkey: public}},
	}
	if change != nil {
		change(opts, &cfg)
	}
	s, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { stop(s) })
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server does not start")
	}
	cfg.URL = "nats://" + s.Addr().String()
	if opts.TLSConfig != nil {
		cfg.URL = "tls://" + s.Addr().String()
	}
	return s, cfg
}

func write0600(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestExternalKeepsTheContract(t *testing.T) {
	t.Parallel()
	journaltest.Run(t, func(t *testing.T) journaltest.Opened {
		_, cfg := external(t, nil)
		j := open(t, cfg)
		return journaltest.Opened{
			Journal: j,
			Reopen: func(t *testing.T) journal.Journal {
				j = reopen(t, cfg, j)
				return j
			},
		}
	})
}

func TestSeveralGatewaysShareAStore(t *testing.T) {
	_, cfg := external(t, nil)
	a, b := open(t, cfg), open(t, cfg)
	wakes := make(chan journal.Wake, 10)
	stop, err := a.Watch(t.Context(), home, func(w journal.Wake) { wakes <- w })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	r := create(t, a, ask("one"))
	seen, err := b.Get(t.Context(), r.Key)
	if err != nil || seen.Rev != r.Rev {
		t.Fatalf("the other gateway sees %+v, %v", seen, err)
	}
	answered := settle(t, b, seen, time.Hour)
	<-wakes
	if w := <-wakes; !w.Record.Settled || w.Record.Rev != answered.Rev {
		t.Errorf("its home was woken with %+v", w)
	}
	if _, err := a.Update(t.Context(), r); !errors.Is(err, journal.Conflict) {
		t.Errorf("the home's own update gives %v", err)
	}
}

func TestStrangersAreNotLetIn(t *testing.T) {
	_, cfg := external(t, nil)
	stranger, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, _ := stranger.Seed()
	cfg.NKeyFile = write0600(t, "stranger.nk", seed)
	if _, err := Open(t.Context(), cfg); !errors.Is(err, journal.Unavailable) {
		t.Errorf("a stranger gets %v", err)
	}
	cfg.NKeyFile = write0600(t, "garbage.nk", []byte("SUGARBAGE"))
	if _, err := Open(t.Context(), cfg); err == nil || strings.Contains(err.Error(), "GARBAGE") {
		t.Errorf("a file that is no seed gives %v", err)
	}
}

func TestTLS(t *testing.T) {
	ca, certificate := authority(t)
	_, cfg := external(t, func(o *server.Options, c *Config) {
		o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13}
		c.CAFile = ca
	})
	j := open(t, cfg)
	create(t, j, ask("one"))
	if !strings.HasPrefix(j.link.conn.ConnectedUrl(), "tls://") {
		t.Errorf("connected to %s", j.link.conn.ConnectedUrl())
	}
	cfg.CAFile = ""
	if _, err := Open(t.Context(), cfg); !errors.Is(err, journal.Unavailable) {
		t.Errorf("a server whose authority is unknown gives %v", err)
	}
	other, _ := authority(t)
	cfg.CAFile = other
	if _, err := Open(t.Context(), cfg); !errors.Is(err, journal.Unavailable) {
		t.Errorf("a server of another authority gives %v", err)
	}
}

// authority makes a certificate authority and a server certificate that it
// signed.
func authority(t *testing.T) (caFile string, certificate tls.Certificate) {
	t.Helper()
	sign := func(template, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if parentKey == nil {
			parentKey = key
		}
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
		if err != nil {
			t.Fatal(err)
		}
		return der, key
	}
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	rootDER, rootKey := sign(root, root, nil)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	leafDER, leafKey := sign(leaf, root, rootKey)
	caFile = write0600(t, "ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootDER}))
	return caFile, tls.Certificate{Certificate: [][]byte{leafDER}, PrivateKey: leafKey}
}
