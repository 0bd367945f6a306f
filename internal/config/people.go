package config

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"

	"github.com/answerback/answerback/internal/secret"
)

const (
	minSigningKey = 16
	// base64Key begins a secret that is written in base64, as the libraries
	// that check the signature know it.
	base64Key = "whsec_"
)

func (k *checker) files(c *Config) {
	f := &c.Asks.Files
	if f.MaxPerAsk < f.MaxSize {
		k.add("asks.files.max_per_ask", fmt.Sprintf("%v is less than asks.files.max_size (%v)", f.MaxPerAsk, f.MaxSize), "raise it, or lower that")
	}
	if f.MaxTotal < f.MaxPerAsk {
		k.add("asks.files.max_total", fmt.Sprintf("%v is less than asks.files.max_per_ask (%v)", f.MaxTotal, f.MaxPerAsk), "raise it, or lower that")
	}
}

func (k *checker) notify(c *Config) {
	n := &c.Notify
	webhook := n.Webhook.Reveal()
	if webhook == "" {
		if n.Secret.Reveal() != "" {
			k.add("notify.secret", "is set, and there is nobody to notify", "set notify.webhook as well, or leave it out")
		}
		return
	}
	switch u, err := url.Parse(webhook); {
	case webhook == secret.Redacted: // a description of a configuration is one too
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || !isHost(u.Hostname()) || !isPort(u) || u.User != nil || u.Fragment != "":
		k.add("notify.webhook", "is not an address that can be posted to", "write it as https://hooks.example.com/path")
	case u.Scheme == "http" && !isLoopback(u.Hostname()) && !n.InsecureAllowHTTP:
		k.add("notify.webhook", "uses http, and whoever is on the way could read it", "use https, or set notify.insecure_allow_http: true")
	}
	key, ok := n.SigningKey()
	if n.Secret.Reveal() != secret.Redacted && (!ok || len(key) < minSigningKey) {
		k.add("notify.secret", fmt.Sprintf("is missing, or has fewer than %d characters: nobody could tell who posts", minSigningKey), "set it to a long random text, from a variable such as ${NOTIFY_SECRET}")
	}
}

// pushes checks the receivers that the operator trusts.
func (k *checker) pushes(c *Config) {
	for i, address := range c.A2A.PushTrusted {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || !isHost(u.Hostname()) || !isPort(u) || u.User != nil {
			k.add(fmt.Sprintf("a2a.push_trusted[%d]", i), "is not the address of a receiver", "write it as http://hooks.internal:8080")
		}
	}
}

// SigningKey is what posts are signed with. It is false for a secret that
// cannot be read.
func (n *Notify) SigningKey() ([]byte, bool) {
	text, encoded := strings.CutPrefix(n.Secret.Reveal(), base64Key)
	if !encoded {
		return []byte(text), true
	}
	key, err := base64.StdEncoding.DecodeString(text)
	return key, err == nil
}
