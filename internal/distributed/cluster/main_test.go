package cluster

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// All tests run with HTTP proxies set on which nothing listens: connections of
// a cluster must not use them.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "GRPC_PROXY"} {
		os.Setenv(name, "http://127.0.0.1:1")
	}
	os.Unsetenv("NO_PROXY")
	os.Unsetenv("no_proxy")
	goleak.VerifyTestMain(m)
}
