//go:build !noserve

package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/batching"
	"github.com/goestimator/goestimator/internal/serving/manager"
	"github.com/goestimator/goestimator/internal/serving/monitoring"
	"github.com/goestimator/goestimator/internal/serving/objectstore"
	"github.com/goestimator/goestimator/internal/serving/page"
	"github.com/goestimator/goestimator/internal/serving/requestlog"
	"github.com/goestimator/goestimator/internal/serving/security"
	"github.com/goestimator/goestimator/serving"
	"github.com/spf13/pflag"
)

// options checks the flags and converts them to the options of a server.
func (f *serveFlags) options(set *pflag.FlagSet, log *slog.Logger) (serving.Options, error) {
	o := serving.Options{
		Listen:        serving.Listen{Host: f.host, Port: f.port, REST: f.restPort, Socket: f.socket},
		Loading:       f.loading(),
		NoWarmUp:      !f.warmUp,
		NoPage:        f.noPage,
		NoProfiler:    !f.profiler,
		AccessLog:     f.accessLog,
		RequestLogDir: f.requestLogs, RemoteAdmin: f.remoteAdmin,
		Requests: serving.Requests{
			RESTTimeout: time.Duration(f.restTimeout) * time.Millisecond, MaxBytes: int64(f.maxBytes), Memory: f.memory, MemoryEach: f.memoryEach,
			CORS: f.cors, Content: f.content, CheckMethods: f.checkMethods,
		},
		WarmUpRuns: f.warmUpRuns,
		Drain:      time.Duration(f.drain) * time.Second,
		Log:        log,
	}
	for _, step := range []func(*serving.Options, *pflag.FlagSet) error{
		f.checkNumbers, f.setModels, f.setBatching, f.setMetrics, f.setSecurity,
	} {
		if err := step(&o, set); err != nil {
			return o, err
		}
	}
	if f.traces != "" || os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" {
		o.Tracing = &serving.Tracing{Endpoint: f.traces, Insecure: f.traces != ""}
	}
	f.warn(log)
	return o, nil
}

func (f *serveFlags) loading() serving.Loading {
	return serving.Loading{
		Poll: time.Duration(f.poll) * time.Second, StartWait: time.Duration(f.startWait) * time.Second,
		Retries: f.retries, RetryInterval: time.Duration(f.retryMicros) * time.Microsecond,
		Threads: f.loadThreads, Lazy: f.loaded, CacheDir: f.cacheDir, CacheMaxBytes: f.cacheBytes, LabelsForUnavailable: f.anyLabels, UnloadFirst: f.unloadFirst,
	}
}

// checkNumbers fails for numbers out of range.
func (f *serveFlags) checkNumbers(_ *serving.Options, _ *pflag.FlagSet) error {
	for _, n := range []struct {
		flag     string
		is       int
		min, max int
	}{
		{"port", f.port, -1, 65535}, {"rest-port", f.restPort, -1, 65535},
		{"model-config-file-poll-wait-seconds", f.configPoll, 0, 1 << 30}, {"file-system-poll-wait-seconds", f.poll, -1, 1 << 30},
		{"startup-wait-seconds", f.startWait, 0, 1 << 30}, {"drain-seconds", f.drain, 1, 1 << 30},
		{"max-loaded-models", f.loaded, 0, 1 << 30}, {"num-load-threads", f.loadThreads, 0, 1 << 20},
		{"max-num-load-retries", f.retries, 0, 1 << 30}, {"load-retry-interval-micros", f.retryMicros, 0, 1 << 50},
		{"num-request-iterations-for-warmup", f.warmUpRuns, 1, 1 << 20}, {"rest-api-timeout-in-ms", f.restTimeout, 1, 1 << 40},
		{"max-request-bytes", f.maxBytes, 0, math.MaxInt32}, {budget.ServerFlag, int(f.memory), 0, 1 << 60}, {budget.RequestFlag, int(f.memoryEach), 0, 1 << 60},
		{"max-concurrent-runs", f.runs, 0, 1 << 20}, {"model-cache-max-bytes", int(f.cacheBytes), 1, 1 << 60},
	} {
		if n.is < n.min || n.is > n.max {
			return fmt.Errorf("--%s: got %d, expected %d to %d", n.flag, n.is, n.min, n.max)
		}
	}
	if f.port > 0 && f.port == f.restPort {
		return fmt.Errorf("--port and --rest-port are both %d: expected two ports", f.port)
	}
	if f.port < 0 && f.restPort < 0 && f.socket == "" {
		return errors.New("--port, --rest-port: got none, and no --grpc-socket-path: expected one to listen on")
	}
	if slices.Contains(strings.Split(f.tags, ","), "") {
		return fmt.Errorf("--saved-model-tags: got %q, expected tags, for example serve", f.tags)
	}
	return nil
}

// setModels sets what to serve: models, a config file or a root folder.
func (f *serveFlags) setModels(o *serving.Options, set *pflag.FlagSet) error {
	given := 0
	for _, is := range []bool{len(f.models) > 0 || f.basePath != "", f.configFile != "", f.root != ""} {
		if is {
			given++
		}
	}
	switch {
	case given == 0:
		return errors.New("no models: give --model NAME=DIR, --model-config-file FILE or --model-root DIR")
	case given > 1:
		return errors.New("--model, --model-config-file and --model-root: expected one of them")
	case given == 1 && len(f.traffic)+len(f.shadow) > 0 && (f.configFile != "" || f.root != ""):
		return errors.New("--traffic and --shadow are for --model: with --model-config-file the file says it, by traffic and shadow of a model; --model-root has the newest versions only")
	case set.Changed("model-name") && f.basePath == "":
		return errors.New("--model-name without --model-base-path")
	case set.Changed("model-config-file-poll-wait-seconds") && f.configFile == "":
		return errors.New("--model-config-file-poll-wait-seconds without --model-config-file")
	case f.configFile != "":
		o.Models = serving.Models{File: f.configFile, Poll: time.Duration(f.configPoll) * time.Second}
		return checkConfigFile(f.configFile, f.requestLogs)
	case f.root != "":
		if _, err := os.ReadDir(f.root); err != nil {
			return fmt.Errorf("--model-root: %w", err)
		}
		o.Models = serving.Models{Root: f.root, Poll: time.Duration(max(f.poll, 0)) * time.Second}
		return nil
	}
	bases, err := f.basePaths()
	if err != nil {
		return err
	}
	cfg := manager.Single(bases)
	if err := f.divide(cfg); err != nil {
		return err
	}
	o.Models = serving.Models{Config: cfg}
	placed, err := objectstore.Placed(cfg)
	if err == nil {
		err = manager.Validate(nil, placed)
	}
	if err != nil {
		return fmt.Errorf("--model: %w", err)
	}
	return nil
}

func checkConfigFile(path, requestLogs string) error {
	text, err := atomicfile.ReadSmall(path)
	if err != nil {
		return fmt.Errorf("--model-config-file: %w", err)
	}
	cfg, err := manager.ParseConfig(text)
	placed := cfg
	if err == nil {
		placed, err = objectstore.Placed(cfg)
	}
	if err == nil {
		err = manager.Validate(nil, placed)
	}
	if err == nil {
		err = requestlog.Check(requestLogs, cfg)
	}
	if err != nil {
		return fmt.Errorf("--model-config-file %s: %w", path, err)
	}
	return nil
}

// basePaths are the folders from --model and --model-base-path, by name.
func (f *serveFlags) basePaths() (map[string]string, error) {
	given := f.models
	if f.basePath != "" {
		given = append(given[:len(given):len(given)], f.name+"="+f.basePath)
	}
	bases := map[string]string{}
	for _, m := range given {
		name, dir, ok := strings.Cut(m, "=")
		if !ok || name == "" || dir == "" {
			return nil, fmt.Errorf("--model: got %q, expected NAME=DIR, for example fashion=exports/fashion", m)
		}
		if bases[name] != "" {
			return nil, fmt.Errorf("--model: %s is given twice", name)
		}
		if err := isBasePath(name, dir); err != nil {
			return nil, err
		}
		if !strings.Contains(dir, "://") {
			abs, err := filepath.Abs(dir)
			if err != nil {
				return nil, fmt.Errorf("--model %s: %w", name, err)
			}
			dir = abs
		}
		bases[name] = dir
	}
	return bases, nil
}

// isBasePath fails for a folder that is a model itself instead of a folder of versions.
func isBasePath(name, dir string) error {
	has := func(file string) bool {
		_, err := os.Stat(filepath.Join(dir, file))
		return err == nil
	}
	switch {
	case has("saved_model.pb"), has("saved_model.pbtxt"):
		return fmt.Errorf("--model %s: %s is a SavedModel itself: expected the folder above it, in which each version has a folder named by its number", name, dir)
	case has(onnx.File) && !hasVersions(dir):
		return fmt.Errorf("--model %s: %s holds an ONNX model itself: expected the folder above it, in which each version has a folder named by its number", name, dir)
	case has("checkpoint") && has("config.yaml"):
		return fmt.Errorf("--model %s: %s is a model_dir, of checkpoints: expected the folder that `goestimator export --config %s --to exports/%s` makes",
			name, dir, filepath.Join(dir, "config.yaml"), name)
	}
	return nil
}

// hasVersions reports whether a folder has subfolders named by numbers.
func hasVersions(dir string) bool {
	children, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(children, func(c os.DirEntry) bool {
		n, err := strconv.ParseInt(c.Name(), 10, 64)
		return err == nil && n >= 0
	})
}

func (f *serveFlags) setBatching(o *serving.Options, set *pflag.FlagSet) error {
	if !f.batching {
		for _, name := range []string{"batching-parameters-file", "enable-per-model-batching-parameters"} {
			if set.Changed(name) {
				return fmt.Errorf("--%s without --enable-batching", name)
			}
		}
	} else {
		b := serving.Batching{BatchingParameters: serving.DefaultBatching(), PerModel: f.perModelBatching}
		if f.batchingFile == "" {
			b.ThreadPoolName = "model_server_batch_threads" // TensorFlow Serving's name, which a file does not have by default
		} else {
			p, err := batching.ReadFile(f.batchingFile)
			if err != nil {
				return fmt.Errorf("--batching-parameters-file: %w", err)
			}
			b.BatchingParameters = serving.BatchingParameters(p)
		}
		o.Batching = &b
	}
	return f.setOverload(o)
}

func (f *serveFlags) setOverload(o *serving.Options) error {
	over := &serving.Overload{Slots: f.runs}
	if f.maxWait != "auto" {
		ms, err := strconv.ParseUint(f.maxWait, 10, 40)
		if err != nil {
			return fmt.Errorf("--max-wait-ms: got %q, expected auto or a number from 0", f.maxWait)
		}
		if ms == 0 {
			return nil
		}
		over.MaxDelay = time.Duration(ms) * time.Millisecond
	}
	o.Overload = over
	return nil
}

func (f *serveFlags) setMetrics(o *serving.Options, _ *pflag.FlagSet) error {
	if f.monitoringFile == "" {
		if f.restPort >= 0 {
			o.Metrics = monitoring.DefaultPath
		}
		return nil
	}
	c, err := monitoring.ReadConfig(f.monitoringFile)
	if err != nil {
		return fmt.Errorf("--monitoring-config-file: %w", err)
	}
	if !c.Enable {
		return nil
	}
	if f.restPort < 0 {
		return errors.New("--monitoring-config-file enables metrics, which are on the REST port: expected --rest-port")
	}
	o.Metrics = c.Path
	return nil
}

func (f *serveFlags) setSecurity(o *serving.Options, _ *pflag.FlagSet) (err error) {
	switch {
	case f.sslFile != "" && (f.cert != "" || f.key != "" || f.clientCA != ""):
		return errors.New("--ssl-config-file and --tls-cert, --tls-key or --tls-client-ca: expected the one or the other")
	case (f.cert == "") != (f.key == ""):
		return errors.New("--tls-cert and --tls-key: expected both or none")
	case f.clientCA != "" && f.cert == "":
		return errors.New("--tls-client-ca without --tls-cert and --tls-key")
	case f.sslFile != "":
		if o.TLS, err = security.ReadSSLConfig(f.sslFile); err != nil {
			return fmt.Errorf("--ssl-config-file: %w", err)
		}
	case f.cert != "":
		if o.TLS, err = (security.Files{Cert: f.cert, Key: f.key, ClientCA: f.clientCA, Log: o.Log}).Config(); err != nil {
			return fmt.Errorf("--tls-cert, --tls-key: %w", err)
		}
		o.RESTTLS = o.TLS
	}
	if f.tokenFile != "" {
		if o.Token, err = serving.ReadToken(f.tokenFile, append([]string{"/healthz", "/readyz", "/v2/health/live", "/v2/health/ready"}, page.Public...)...); err != nil {
			return fmt.Errorf("--token-file: %w", err)
		}
	}
	return nil
}
