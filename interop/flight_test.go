package interop_test

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/inputs"
)

// TestReadsFlight: rows from pyarrow's Flight service, in one stream and in several endpoints, are equal; what the service refuses is an error with the reason.
func TestReadsFlight(t *testing.T) {
	py := peers(t)
	dir := t.TempDir()
	address := startFlight(t, py, dir)
	want := load(t, filepath.Join(dir, "want"))
	t.Setenv("FLIGHT_HEADERS", "authorization: Bearer s3cret")
	secret := func(f inputs.FlightSpec) inputs.FlightSpec {
		f.Address, f.HeadersEnv, f.PlainHeaders = address, "FLIGHT_HEADERS", true
		return f
	}
	for name, f := range map[string]inputs.FlightSpec{
		"path":    {Path: []string{"houses"}},
		"command": {Command: "SELECT * FROM houses", Locations: []string{address}},
		"ticket":  {Ticket: "0:1000"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readSpec(t, inputs.Spec{Format: "flight", Flight: secret(f), BatchSize: 64, Resume: "restart"})
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(want) {
				t.Errorf("%d columns, expected %d", len(got), len(want))
			}
			for column, w := range want {
				equal(t, column, got[column], w)
			}
		})
	}
	for text, f := range map[string]inputs.FlightSpec{
		"no such data set": secret(inputs.FlightSpec{Path: []string{"castles"}}),
		"disk is gone":     secret(inputs.FlightSpec{Ticket: "broken"}),
		"no token":         {Address: address, Path: []string{"houses"}},
	} {
		if _, err := readSpec(t, inputs.Spec{Format: "flight", Flight: f, BatchSize: 64, Resume: "restart"}); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, expected an error with %q", err, text)
		}
	}
}

// startFlight starts python/flight_server.py, and stops it at the end of the test.
func startFlight(t *testing.T, py python, dir string) (address string) {
	t.Helper()
	cmd := exec.Command(py.path, filepath.Join("python", "flight_server.py"), dir)
	cmd.Env = peerEnvironment()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("flight_server.py: %v\n%s", err, tail(stderr.String(), 4000))
		}
	})
	port, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("flight_server.py printed %q: %v", port, err)
	}
	return "127.0.0.1:" + strings.TrimSpace(port)
}
