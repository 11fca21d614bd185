//go:build !noserve

package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/serving"
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

// TestModelServerPorts: under TensorFlow Serving's name, port 0 disables a port; other settings, such as loopback, keep goestimator's defaults.
func TestModelServerPorts(t *testing.T) {
	for line, want := range map[string][2]int{"": {8500, 8501}, "--rest_api_port=0": {8500, -1}, "--port=0 --rest_api_port=9000": {-1, 9000}} {
		var f serveFlags
		set := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		f.add(set)
		if err := set.Parse(strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
		f.asTensorFlow(set)
		if f.port != want[0] || f.restPort != want[1] || f.host != "localhost" {
			t.Errorf("%q: got %d, %d at %s", line, f.port, f.restPort, f.host)
		}
	}
}

// TestModelServerConfigFile: the image of TensorFlow Serving always names a model, and users add a config file.
func TestModelServerConfigFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "models.config")
	if err := os.WriteFile(file, []byte("model_config_list { config { name: 'm' base_path: '/m' model_platform: 'tensorflow' } }"), 0o644); err != nil {
		t.Fatal(err)
	}
	var f serveFlags
	set := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	f.add(set)
	if err := set.Parse([]string{"--model-name=model", "--model-base-path=/models/model", "--model-config-file=" + file}); err != nil {
		t.Fatal(err)
	}
	var o serving.Options
	if err := f.setModels(&o, set); err == nil {
		t.Error("under another name a model beside a config file is taken")
	}
	f.asTensorFlow(set)
	if err := f.setModels(&o, set); err != nil || o.Models.File != file {
		t.Errorf("got %+v, %v", o.Models, err)
	}
}

// TestModelServerFlags: flags of TensorFlow Serving without a meaning here are taken, and the pool of batches without a file has its name.
func TestModelServerFlags(t *testing.T) {
	var f serveFlags
	set := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	f.add(set)
	if err := set.Parse([]string{"--enable_batching", "--tensorflow_session_config_file=/session.config", "--xla_gpu_compilation_enabled"}); err != nil {
		t.Fatal(err)
	}
	var o serving.Options
	if err := f.setBatching(&o, set); err != nil || o.Batching.ThreadPoolName != "model_server_batch_threads" {
		t.Errorf("got %+v, %v", o.Batching, err)
	}
	if got := strings.Join(f.ignored, " "); got != "--tensorflow-session-config-file --xla-gpu-compilation-enabled" {
		t.Errorf("without effect: %s", got)
	}
}

// TestRefusedFlags: a flag that turns on a feature of TensorFlow Serving that this server does not have is refused with the reason.
func TestRefusedFlags(t *testing.T) {
	for name, reason := range refusedFlags {
		for _, value := range []string{"true", "false", "False"} {
			var out, log bytes.Buffer
			code := Run(context.Background(), []string{"serve", "--" + strings.ReplaceAll(name, "-", "_") + "=" + value, "--model", "m"}, &out, &log, WithName(modelServer))
			if code != 2 || strings.Contains(log.String(), reason) != (value == "true") {
				t.Errorf("--%s=%s: exit code %d, %s", name, value, code, log.String())
			}
		}
	}
}
