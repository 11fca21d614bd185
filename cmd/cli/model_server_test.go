package cli

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestAsModelServer(t *testing.T) {
	for path, c := range map[string]struct {
		args, want string
		ok         bool
	}{
		"/usr/bin/goestimator":                 {"train --config a", "train --config a", false},
		"/usr/bin/tensorflow_model_server":     {"--port=8500 --model_base_path=/m", "serve --port=8500 --model_base_path=/m", true},
		"tensorflow_model_server":              {"--version", "--version", true},
		`tensorflow_model_server.exe`:          {"", "serve", true},
		"/opt/tensorflow_model_server/program": {"doctor", "doctor", false},
	} {
		got, ok := asModelServer(path, strings.Fields(c.args))
		if !slices.Equal(got, strings.Fields(c.want)) || ok != c.ok {
			t.Errorf("%s %s: got %q, %v", path, c.args, got, ok)
		}
	}
}

// TestModelServerPorts: a port of 0 is none under TensorFlow Serving's name; what is not said stays as it is, loopback too.
func TestModelServerPorts(t *testing.T) {
	for line, want := range map[string][2]int{"": {8500, 8501}, "--rest_api_port=0": {8500, -1}, "--port=0 --rest_api_port=9000": {-1, 9000}} {
		var f serveFlags
		set := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		f.add(set)
		if err := set.Parse(strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
		f.portsOff(set)
		if f.port != want[0] || f.restPort != want[1] || f.host != "localhost" {
			t.Errorf("%q: got %d, %d at %s", line, f.port, f.restPort, f.host)
		}
	}
}

// TestRefusedFlags: what TensorFlow Serving has and this server has not is refused with the reason, where it asks for something.
func TestRefusedFlags(t *testing.T) {
	for name, reason := range refusedFlags {
		for _, value := range []string{"true", "false"} {
			var out, log bytes.Buffer
			code := Run(context.Background(), []string{"serve", "--" + strings.ReplaceAll(name, "-", "_") + "=" + value, "--model", "m"}, &out, &log, WithName(modelServer))
			if code != 2 || strings.Contains(log.String(), reason) != (value == "true") {
				t.Errorf("--%s=%s: exit code %d, %s", name, value, code, log.String())
			}
		}
	}
}
