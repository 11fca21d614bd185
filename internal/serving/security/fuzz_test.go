package security

import "testing"

// No text makes the parser panic, and no text without a key pair is accepted.
func FuzzParseSSLConfig(f *testing.F) {
	f.Add([]byte(`server_key: "-----BEGIN PRIVATE KEY-----" server_cert: "-----BEGIN CERTIFICATE-----" client_verify: true`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := ParseSSLConfig(text); err == nil && len(c.Certificates) == 0 {
			t.Error("accepted without a certificate")
		}
	})
}
