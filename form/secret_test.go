package form_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/answerback/answerback/form"
)

// A6: fields that ask for a secret, by every way in which they can.
func TestSecretsAreFound(t *testing.T) {
	for _, name := range []string{
		"password", "Password", "userPassword", "db_password", "new-password", "passwd", "pwd", "passphrase", "passcode",
		"secret", "client_secret", "clientSecret", "webhook_secret", "api_key", "apiKey", "APIKey", "apikey", "OPENAI_API_KEY", "x-api-key",
		"token", "access_token", "accessToken", "github_token", "GITHUB_TOKEN", "slackBotToken", "auth_token", "refresh_token", "bearer",
		"private_key", "ssh_key", "aws_secret_access_key", "signing_key", "credentials", "jwt",
		"card_number", "cardNumber", "credit_card", "creditCardNumber", "cvv", "cvc", "security_code", "ssn", "social_security_number",
		"otp", "one_time_code", "verification_code", "recovery_code", "seed_phrase", "mnemonic", "pin", "pin_code", "connection_string", "pass", "key", "passwort", "contraseña", "mot_de_passe",
	} {
		check(t, name, `{"type":"string"}`, true)
	}
	for _, property := range []string{
		`{"type":"string","format":"password"}`,
		`{"type":"string","writeOnly":true}`,
		`{"type":"string","title":"Your Password"}`,
		`{"type":"string","title":"API-Key"}`,
		`{"type":"string","description":"Enter your API key from the settings page"}`,
		`{"type":"string","description":"We never share it. Paste the access token here."}`,
		`{"type":"string","description":"The 16 digits of your credit card"}`,
		`{"type":"string","description":"Enter your password, do not share it"}`,
		`{"type":"string","description":"Your password (never stored)"}`,
		`{"type":"string","description":"Never tell anybody: the API key of your account"}`,
		`{"type":"integer","title":"Card number"}`,
		`{"type":"number","title":"CVV"}`,
		`{"type":"integer","description":"The verification code that we sent"}`,
		`{"title":"Password"}`,
	} {
		check(t, "field", property, true)
	}
	for _, name := range []string{"pin", "cvc", "otp", "card_number"} {
		check(t, name, `{"type":"integer"}`, true)
	}
}

func TestOtherFieldsAreNoSecrets(t *testing.T) {
	for _, name := range []string{
		"name", "email", "username", "max_tokens", "maxTokens", "tokens", "token_count", "tokenLimit", "token_type", "tokenizer", "next_page_token",
		"password_hint", "password_policy", "passwordLength", "secret_name", "secretId", "key_name", "keyboard", "monkey", "keyword", "primary_key_column",
		"api_key_id", "access_key_id", "api_url", "card_holder", "card_type", "business_card", "pinned", "spinner", "opinion", "pin_color", "compass", "bypass",
		"passenger", "passport_country", "author", "authority", "secretary", "code", "zip_code", "postal_code", "country_code", "promo_code", "error_code",
		"verification_url", "session_id", "account_id", "account_name", "number", "phone_number", "pattern", "path", "option", "jwt_algorithm", "sort_key_name",
	} {
		check(t, name, `{"type":"string"}`, false)
	}
	for name, property := range map[string]string{
		"use_password":   `{"type":"boolean"}`,
		"token":          `{"type":"string","enum":["none","bearer"]}`,
		"secret":         `{"type":"array","items":{"type":"string","enum":["a"]}}`,
		"password":       `{"type":"number"}`,
		"access_token":   `{"type":"string","oneOf":[{"const":"a","title":"A"}]}`,
		"max_token":      `{"type":"integer"}`,
		"a":              `{"type":"string","description":"Do not enter your password here"}`,
		"b":              `{"type":"string","description":"Sign in without a password"}`,
		"c":              `{"type":"integer","description":"Your favourite (never your phone number, PIN, or password)"}`,
		"d":              `{"type":"string","description":"How many tokens may be spent"}`,
		"e":              `{"type":"integer","description":"How many secret agents"}`,
		"f":              `{"type":"string","title":"Token type","description":"bearer or basic"}`,
		"g":              `{"type":"string","format":"uri","description":"Where the keys are published"}`,
		"pin_count":      `{"type":"integer"}`,
		"number_of_pins": `{"type":"integer"}`,
	} {
		check(t, name, property, false)
	}
	for _, raw := range []string{``, `[]`, `{}`, `{"properties":[]}`, `{"properties":{"password":true}}`} {
		if got := form.Sensitive([]byte(raw), ""); len(got) > 0 && raw != `{"properties":{"password":true}}` {
			t.Errorf("%s: %v", raw, got)
		}
	}
}

func check(t *testing.T, name, property string, secret bool) {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"type": "object", "properties": map[string]json.RawMessage{"city": []byte(`{"type":"string"}`), name: []byte(property)}})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	if secret {
		want = []string{name}
	}
	if got := form.Sensitive(raw, ""); !slices.Equal(got, want) {
		t.Errorf("%s %s: %v, want %v", name, property, got, want)
	}
}

// A6, F21: the prompt itself can ask for a secret.
func TestSecretsInText(t *testing.T) {
	for text, want := range map[string]bool{
		"Enter API key:":                              true,
		"Please type your password to go on.":         true,
		"What is the one-time code?":                  true,
		"Your credit card, please":                    true,
		"Which city do you live in?":                  false,
		"Do you want to reset? No password is needed": false,
		"Please never type your password here":        false,
		"":                                            false,
	} {
		if got := form.SensitiveText(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// A6: a field whose name says nothing is what the message asks for, and no
// object that MCP would not allow hides one.
func TestSecretsBehindOtherNames(t *testing.T) {
	one := func(name, property string) string {
		return `{"type":"object","properties":{"` + name + `":` + property + `}}`
	}
	for _, c := range []struct {
		message, schema string
		want            []string
	}{
		{"Enter API key:", one("value", `{"type":"string"}`), []string{"value"}},
		{"Your password, please", one("answer", `{"type":"string","title":"Your answer"}`), []string{"answer"}},
		{"Your password, please", one("city", `{"type":"string"}`), nil},
		{"Your password, please", one("value", `{"type":"string","title":"City"}`), nil},
		{"Reset the password?", one("value", `{"type":"boolean"}`), nil},
		{"Which city?", one("value", `{"type":"string"}`), nil},
		{"", one("login", `{"type":"object","properties":{"password":{"type":"string"}}}`), []string{"login.password"}},
		{"", one("keys", `{"type":"array","items":{"type":"object","properties":{"api_key":{"type":"string"}}}}`), []string{"keys.api_key"}},
		{"", `{"type":"object","properties":{},"allOf":[` + one("token", `{"type":"string"}`) + `]}`, []string{"token"}},
	} {
		if got := form.Sensitive([]byte(c.schema), c.message); !slices.Equal(got, c.want) {
			t.Errorf("%q %s: %v, want %v", c.message, c.schema, got, c.want)
		}
		f, err := form.FromRequested([]byte(c.schema), c.message)
		if err == nil && f.Sensitive() != (len(c.want) > 0) {
			t.Errorf("%q %s: the form is sensitive: %t", c.message, c.schema, f.Sensitive())
		}
	}
}
