//go:build !noserve

package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/serving/batching"
	"github.com/goestimator/goestimator/internal/serving/monitoring"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/serving"
	"github.com/goestimator/goestimator/serving/client"
)

// TestServeBinary builds the binary and serves TensorFlow's half_plus_two with it:
// both APIs respond, a second version takes over, and after SIGTERM it exits with code 0.
func TestServeBinary(t *testing.T) {
	golden := testkit.Shared(t, "golden/tensorflow-serving/saved_model_half_plus_two_cpu/00000123")
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	work := t.TempDir()
	binary, err := testkit.Program()
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(work, "half_plus_two")
	if err := os.CopyFS(filepath.Join(base, "1"), os.DirFS(golden)); err != nil {
		t.Fatal(err)
	}

	cmd := exec.CommandContext(ctx, binary, "serve", "--model", "half_plus_two="+base, "--host=127.0.0.1", "--port=0", "--rest_api_port=0",
		"--enable_batching", "--json")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	defer func() {
		if !ended {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		if t.Failed() {
			t.Logf("standard error:\n%s", stderr.String())
		}
	}()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	var at serving.Addresses
	if err := json.Unmarshal([]byte(line), &at); err != nil {
		t.Fatalf("addresses: %q: %v", line, err)
	}
	if err != nil {
		t.Fatal(err)
	}

	c, err := client.Dial(at.GRPC, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if version := halfPlusTwo(ctx, t, c); version != 1 {
		t.Errorf("version %d answered, want 1", version)
	}
	const want = "200 {\n    \"predictions\": [2.5, 3.0, 4.5\n    ]\n}"
	if got := post(ctx, t, "http://"+at.REST+"/v1/models/half_plus_two:predict", `{"instances": [1.0, 2.0, 5.0]}`); got != want {
		t.Errorf("REST: %s, want %s", got, want)
	}

	staged := filepath.Join(base, "staged") // not a number, so not a version
	if err := os.CopyFS(staged, os.DirFS(golden)); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(staged, filepath.Join(base, "2")); err != nil {
		t.Fatal(err)
	}
	for halfPlusTwo(ctx, t, c) != 2 { // every response until then is right; ctx limits the wait
	}

	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	ended = true
	if err != nil {
		t.Errorf("after SIGTERM: %v, want exit code 0", err)
	}
}

// halfPlusTwo requests a prediction and returns the version that responded.
func halfPlusTwo(ctx context.Context, t *testing.T, c *client.Client) int64 {
	t.Helper()
	p, err := c.Predict(ctx, client.Model{Name: "half_plus_two"}, client.Inputs{"x": []float32{1, 2, 5}})
	if err != nil {
		t.Fatal(err)
	}
	y, err := client.Output[[]float32](p, "y")
	if err != nil || fmt.Sprint(y) != "[2.5 3 4.5]" {
		t.Fatalf("y = %v, %v; want [2.5 3 4.5]", y, err)
	}
	return p.Version
}

func post(ctx context.Context, t *testing.T, url, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, text)
}

// TestServeConfigs: the flags accept the example files in configs.
func TestServeConfigs(t *testing.T) {
	const configs = "../../configs/serving_"
	if err := checkConfigFile(configs+"models.config", "/var/log/serving"); err != nil {
		t.Error(err)
	}
	if _, err := batching.ReadFile(configs + "batching.config"); err != nil {
		t.Error(err)
	}
	if c, err := monitoring.ReadConfig(configs + "monitoring.config"); err != nil || !c.Enable {
		t.Errorf("monitoring: %+v, %v", c, err)
	}
}
