package bearer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxBody is how long an issuer's metadata or key set may be.
const maxBody = 512 << 10

// fetch gets the issuer's keys, after finding out where they are if that is
// not known or was long ago.
func (k *keyring) fetch(ctx context.Context) (keySet, error) {
	from := k.jwks
	if from == "" {
		if k.found == "" || !k.now().Before(k.foundAt.Add(rediscover)) {
			found, err := k.discover(ctx)
			if err != nil {
				return nil, err
			}
			k.found, k.foundAt = found, k.now()
		}
		from = k.found
	}
	keys, err := k.read(ctx, from)
	if err != nil {
		k.found = ""
		return nil, fmt.Errorf("keys: %w", err)
	}
	return keys, nil
}

func (k *keyring) read(ctx context.Context, from string) (keySet, error) {
	text, err := k.get(ctx, from)
	if err != nil {
		return nil, err
	}
	return readKeySet(text)
}

// discover asks the issuer's metadata where its keys are. The errors of all
// places where metadata may be are joined.
func (k *keyring) discover(ctx context.Context) (string, error) {
	var failures []error
	for _, place := range places(k.issuer) {
		from, err := k.metadata(ctx, place)
		if err == nil {
			return from, nil
		}
		failures = append(failures, fmt.Errorf("metadata: %w", err))
	}
	return "", errors.Join(failures...)
}

func (k *keyring) metadata(ctx context.Context, place string) (string, error) {
	text, err := k.get(ctx, place)
	if err != nil {
		return "", err
	}
	// A map, because its keys are compared exactly.
	var document map[string]any
	if err := json.Unmarshal(text, &document); err != nil {
		return "", fmt.Errorf("%s: not a JSON object", place)
	}
	if issuer, _ := document["issuer"].(string); issuer != k.issuer {
		return "", fmt.Errorf("%s: is of issuer %q, which is not exactly the configured one", place, issuer)
	}
	from, _ := document["jwks_uri"].(string)
	if err := checkAddress(from); err != nil {
		return "", fmt.Errorf("%s: jwks_uri: %w", place, err)
	}
	if strings.HasPrefix(k.issuer, "https:") && !strings.HasPrefix(from, "https:") {
		return "", fmt.Errorf("%s: jwks_uri: %q must begin with https:// as the issuer does", place, from)
	}
	return from, nil
}

// places are the addresses of an issuer's metadata, in the order of the MCP
// specification: RFC 8414, then OpenID Connect in both spellings.
func places(issuer string) []string {
	scheme, rest, _ := strings.Cut(issuer, "://")
	host, path, _ := strings.Cut(rest, "/")
	root := scheme + "://" + host
	if path = strings.TrimSuffix(path, "/"); path == "" {
		return []string{root + "/.well-known/oauth-authorization-server", root + "/.well-known/openid-configuration"}
	}
	return []string{
		root + "/.well-known/oauth-authorization-server/" + path,
		root + "/.well-known/openid-configuration/" + path,
		root + "/" + path + "/.well-known/openid-configuration",
	}
}

// get fetches a JSON document of bounded length.
func (k *keyring) get(ctx context.Context, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	res, err := k.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: status %d", address, res.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	if len(text) > maxBody {
		return nil, fmt.Errorf("%s: longer than %d bytes", address, maxBody)
	}
	return text, nil
}
