package natsjournal

import (
	"fmt"

	"github.com/nats-io/nats.go"
)

// credentials are the options that say to an external server who we are, and
// to us which server to trust.
func (c *Config) credentials() ([]nats.Option, error) {
	options := []nats.Option{nats.Timeout(c.Timeout)}
	if c.CAFile != "" {
		options = append(options, nats.RootCAs(c.CAFile))
	}
	if c.CertFile != "" {
		options = append(options, nats.ClientCert(c.CertFile, c.KeyFile))
	}
	if c.CredentialsFile != "" {
		options = append(options, nats.UserCredentials(c.CredentialsFile))
	}
	if c.NKeyFile != "" {
		o, err := nats.NkeyOptionFromSeed(c.NKeyFile)
		if err != nil {
			// The error can have a part of the file in it, which is a secret.
			return nil, fmt.Errorf("natsjournal: %s does not hold an nkey seed, or cannot be read", c.NKeyFile)
		}
		options = append(options, o)
	}
	return options, nil
}
