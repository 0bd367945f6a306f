package signin

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/identity"
)

const (
	maxCode    = 4 << 10
	maxClaims  = 32 << 10
	maxSubject = 255 // by OpenID Connect Core
)

// somebody is who an ID token is about.
type somebody struct {
	principal ask.Principal
	name      string
	claims    json.RawMessage
}

// redeem turns the answer of a provider into who signed in.
func (d *discovered) redeem(ctx context.Context, f flow, a answer) (somebody, *refusal) {
	if a.issuer != d.cfg.Issuer && (a.named || d.sendsIssuer) {
		return somebody{}, &refusal{
			reason: WrongIssuer, status: http.StatusBadRequest,
			message: "The answer came from another sign-in provider than the one you were sent to. Sign in again.",
		}
	}
	if a.failure != "" {
		return somebody{}, providerRefused(a.failure)
	}
	if len(a.code) > maxCode {
		return somebody{}, &refusal{reason: BadRequest, status: http.StatusBadRequest, message: "The sign-in came back malformed. Sign in again."}
	}
	ctx = oidc.ClientContext(ctx, d.client)
	token, err := d.oauth.Exchange(ctx, a.code, oauth2.VerifierOption(f.verifier))
	if err != nil {
		return somebody{}, exchangeFailed(err)
	}
	// The verifier fetches keys in a goroutine, which the client's timeout
	// ends. Waiting for it whatever the browser does keeps it ours.
	who, err := d.verify(context.WithoutCancel(ctx), token, f.nonce)
	if err != nil {
		return somebody{}, &refusal{
			reason: BadToken, status: http.StatusForbidden, cause: clip(err),
			message: "The sign-in provider did not prove who you are. Sign in again, or tell the operator.",
		}
	}
	return who, nil
}

// verify checks an ID token by OpenID Connect Core 3.1.3.7. It came from the
// provider itself, but that provider may be mistaken about whom it is for.
func (d *discovered) verify(ctx context.Context, token *oauth2.Token, nonce string) (somebody, error) {
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return somebody{}, errors.New("there is no ID token in the answer")
	}
	if err := checkType(raw); err != nil {
		return somebody{}, err
	}
	id, err := d.verifier.Verify(ctx, raw)
	if err != nil {
		return somebody{}, err
	}
	if nonce == "" || subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(nonce)) != 1 {
		return somebody{}, errors.New("the ID token was made for another sign-in: its nonce is not ours")
	}
	if id.AccessTokenHash != "" {
		if err := id.VerifyAccessToken(token.AccessToken); err != nil {
			return somebody{}, err
		}
	}
	if !isSubject(id.Subject) {
		return somebody{}, errors.New("the ID token has no usable subject")
	}
	var claims map[string]any
	if err := id.Claims(&claims); err != nil {
		return somebody{}, err
	}
	if err := checkSpelling(claims); err != nil {
		return somebody{}, err
	}
	if err := checkParty(claims, id.Audience, d.cfg.ClientID); err != nil {
		return somebody{}, err
	}
	for _, used := range []string{"nonce", "at_hash", "c_hash", "s_hash"} {
		delete(claims, used)
	}
	kept, err := json.Marshal(claims)
	if err != nil {
		return somebody{}, err
	}
	if len(kept) > maxClaims {
		return somebody{}, fmt.Errorf("the ID token has %d bytes of claims, more than the %d that a session may hold: have the provider send fewer", len(kept), maxClaims)
	}
	who := ask.Principal{Issuer: d.cfg.Issuer, Subject: id.Subject}
	return somebody{principal: who, name: identity.Claims(claims).Name(), claims: kept}, nil
}

// checkType refuses tokens of other kinds, which are signed with the same keys.
func checkType(raw string) error {
	head, _, _ := strings.Cut(raw, ".")
	text, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil {
		return errors.New("the ID token is not a JWT")
	}
	var header struct {
		Type string `json:"typ"`
	}
	if err := json.Unmarshal(text, &header); err != nil {
		return errors.New("the ID token is not a JWT")
	}
	if header.Type != "" && !strings.EqualFold(header.Type, "JWT") {
		return fmt.Errorf("the ID token is of type %q", header.Type)
	}
	return nil
}

// checkSpelling refuses claims that encoding/json takes for others, whose
// names it compares without regard to case: the verifier would have read the
// one and we the other.
func checkSpelling(claims map[string]any) error {
	for name := range claims {
		for _, exact := range []string{"iss", "sub", "aud", "exp", "nbf", "iat", "nonce", "azp", "at_hash", "_claim_names", "_claim_sources"} {
			if name != exact && strings.EqualFold(name, exact) {
				return fmt.Errorf("the ID token has the claim %s misspelt", exact)
			}
		}
	}
	return nil
}

// checkParty checks that we are the client that the token was issued to, not
// merely one of those it may be shown to.
func checkParty(claims map[string]any, audience []string, client string) error {
	party, given := claims["azp"]
	if given && party != client {
		return errors.New("the ID token was issued to another client: azp is not ours")
	}
	if !given && len(audience) > 1 {
		return errors.New("the ID token is for several clients, and does not say to which it was issued")
	}
	return nil
}

func isSubject(sub string) bool {
	if sub == "" || len(sub) > maxSubject || !utf8.ValidString(sub) {
		return false
	}
	return strings.IndexFunc(sub, unicode.IsControl) < 0
}

// providerRefused gives our own words for an error that came through the
// browser: its description may be anybody's.
func providerRefused(code string) *refusal {
	why := &refusal{reason: ProviderRefused, status: http.StatusForbidden, message: "The sign-in provider did not sign you in. Sign in again, or tell the operator."}
	switch code {
	case "access_denied":
		why.message = "You were not signed in, because access was denied or you cancelled."
	case "login_required", "interaction_required", "consent_required", "account_selection_required":
		why.message = "The sign-in provider needs you to do something first. Sign in again."
	case "server_error", "temporarily_unavailable":
		why.message = "The sign-in provider has a problem. Try again later."
	case "invalid_request", "unauthorized_client", "unsupported_response_type", "invalid_scope":
		why.message = "The sign-in provider does not accept this gateway's configuration. Tell the operator."
	default:
		code = "an error that OpenID Connect does not have"
	}
	why.cause = errors.New(code)
	return why
}

// exchangeFailed keeps of the error what cannot hold a secret: a provider may
// answer with the code, or the client secret, that it was sent.
func exchangeFailed(err error) *refusal {
	why := &refusal{
		reason: ProviderFailed, status: http.StatusBadGateway, cause: errors.New("token endpoint: the answer cannot be read"),
		message: "The sign-in provider could not complete the sign-in. Sign in again.",
	}
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		status := 0
		if refused.Response != nil {
			status = refused.Response.StatusCode
		}
		why.cause = fmt.Errorf("token endpoint: status %d, error %s", status, tokenError(refused.ErrorCode))
	}
	if unreached, ok := errors.AsType[*url.Error](err); ok {
		why.cause = fmt.Errorf("token endpoint: %w", clip(unreached.Err))
	}
	return why
}

// tokenError gives the code if it is one of RFC 6749.
func tokenError(code string) string {
	switch code {
	case "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope":
		return code
	}
	return "unknown"
}
