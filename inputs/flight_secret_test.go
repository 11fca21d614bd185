package inputs

import "testing"

// TestFlightHides: no text shows a header's value, in any form in which a service may repeat it.
func TestFlightHides(t *testing.T) {
	t.Setenv("TEST_FLIGHT", "authorization: Bearer first-secret\nauthorization: Bearer second-secret\nx-key: plain-secret, and more-secret\n"+
		"proxy-authorization: Basic c29tZWJvZHk6cGFzczpzZWNyZXQ=") // somebody:pass:secret
	s, err := FlightSpec{HeadersEnv: "TEST_FLIGHT"}.headers()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"first-secret", "second-secret", "Bearer first-secret", "Bearer first-secret, Bearer second-secret", "plain-secret", "more-secret", "plain-secret, and more-secret",
		"c29tZWJvZHk6cGFzczpzZWNyZXQ=", "Basic c29tZWJvZHk6cGFzczpzZWNyZXQ=", "somebody:pass:secret", "somebody", "pass:secret"} {
		if got := s.hide("bad [" + text + "]"); got != "bad [$TEST_FLIGHT]" {
			t.Errorf("%s: got %s", text, got)
		}
	}
	for _, value := range []string{"Basic", "Basic !", "Basic c29tZQ", "Bearer c29tZWJvZHk6cGFzczpzZWNyZXQ="} {
		s.values = map[string]string{"authorization": value}
		if got := s.hide("bad user, "); got != "bad user, " {
			t.Errorf("%s: got %s", value, got)
		}
	}
}
