//go:build !noserve

package cli

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/runtime/gpus"
	"github.com/goestimator/goestimator/internal/serving/objectstore"
	"github.com/goestimator/goestimator/serving"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	models, traffic, shadow            []string
	configFile, root, name, basePath   string
	configPoll, poll, startWait, drain int
	host, socket, device               string
	port, restPort                     int

	retries, retryMicros, loadThreads, loaded, runs int
	unloadFirst, anyLabels, softPlacement           bool
	warmUp, loadCheck                               bool
	check                                           string
	warmUpRuns                                      int

	batching, perModelBatching bool
	batchingFile               string
	maxWait                    string

	monitoringFile, sslFile, cert, key, clientCA, tokenFile, traces, tags string
	restTimeout, maxBytes                                                 int
	memory, memoryEach, cacheBytes                                        int64
	cacheDir                                                              string
	requestLogs                                                           string
	cors, content, checkMethods, accessLog, noPage, json, remoteAdmin     bool
	profiler                                                              bool

	ignored []string // flags of TensorFlow Serving that have no effect here
}

// withoutMeaning are flags of TensorFlow Serving that are accepted without effect, so that
// its command lines work.
var withoutMeaning = []string{
	"enable-grpc-healthcheck-service", "flush-filesystem-caches", "grpc-channel-arguments", "grpc-max-threads",
	"num-tflite-interpreters-per-pool", "num-tflite-pools", "num-unload-threads", "per-process-gpu-memory-fraction", "remove-unused-fields-from-bundle-metagraph", "rest-api-num-threads",
	"skip-initialize-tpu", "tensorflow-inter-op-parallelism", "tensorflow-intra-op-parallelism", "tensorflow-session-config-file", "tensorflow-session-parallelism",
	"xla-cpu-compilation-enabled", "xla-gpu-compilation-enabled",
}

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve {--model NAME=DIR | --model-config-file FILE | --model-root DIR | --check DIR}",
		Short: "answer requests for models over gRPC and REST, as TensorFlow Serving does",
		Long: `Serves SavedModels over the gRPC and REST APIs of TensorFlow Serving. A model's
DIR holds a folder for each version, named by its number (1, 2, 1760000000); the
newest is served, and a new one takes its place without a request failing.

The flags of TensorFlow Serving are known by their own names too, such as
--rest_api_port: underscores may stand for dashes everywhere. SIGTERM or Ctrl-C
drains: no new connections, requests that are going on are finished.

On the REST port there are besides a page for people (/), /healthz, /readyz,
/v1/models:list and metrics (/monitoring/prometheus/metrics).

A version is loaded only if it can answer: ops, element types and attributes are
looked up, and each signature makes a dry run. --check DIR does that alone, for a
SavedModel or the newest version in DIR, lists all that is missing, and ends.

Exit codes: 0 drained after a signal; 1 an error, such as a model that cannot be
loaded at the start or requests that were cut off; 2 a mistake in the
command line or the config; 130 ended by a second signal.`,
		Example: `  goestimator serve --model fashion=exports/fashion
  goestimator serve --model-config-file configs/serving_models.config --model-config-file-poll-wait-seconds 10
  goestimator serve --model-root exports --port 0 --rest-port 0 --json
  goestimator serve --check exports/fashion
  curl -d '{"instances": [1.0, 2.0, 5.0]}' http://localhost:8501/v1/models/half_plus_two:predict`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var o serving.Options
			var err error
			if f.check != "" {
				err = f.noModels()
			} else {
				a.drains = true
				if a.name == modelServer {
					f.asTensorFlow(cmd.Flags())
				}
				o, err = f.options(cmd.Flags(), a.log)
			}
			if err != nil {
				return usage(err)
			}
			name, err := gpus.Parse(f.device)
			if err != nil {
				return usage(err)
			}
			dev, chosen, err := gpus.NewChooser(a.gpus, a.log).Open(cmd.Context(), name)
			if err != nil {
				return err
			}
			if f.check != "" {
				return errors.Join(a.checkModel(cmd.Context(), f.check, &f, dev), dev.Close())
			}
			if chosen.GPU {
				a.log.Info("serving on a GPU", "device", chosen)
			}
			o.Version, o.Build = a.thisBuild().Version, a.thisBuild().String()
			o.Loader = serving.SavedModels(serving.SavedModelOptions{Runs: f.runs, Device: dev, HardPlacement: !f.softPlacement, Tags: strings.Split(f.tags, ","), NoLoadCheck: !f.loadCheck, Log: a.log})
			return errors.Join(a.serve(cmd.Context(), o, f.json), dev.Close())
		},
	}
	f.add(cmd.Flags())
	completeFolders(cmd, "model-root", "model-base-path", "check")
	return cmd
}

// serve runs a server until ctx ends.
func (a *app) serve(ctx context.Context, o serving.Options, asJSON bool) error {
	defer runtime.KeepAlive(heapBallast())
	s, err := serving.New(o)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-s.Available():
	}
	if asJSON {
		if err := a.printJSON(s.Addresses()); err != nil {
			a.log.Warn("addresses could not be printed", "error", err)
		}
	}
	return <-ended
}

func (f *serveFlags) add(flags *pflag.FlagSet) {
	flags.SetNormalizeFunc(dashes(serveAliases))
	flags.SortFlags = false
	f.addModels(flags)
	f.addPorts(flags)
	f.addRequests(flags)
	for name, reason := range refusedFlags {
		flags.Var(refusedFlag(reason), name, "of TensorFlow Serving; refused: "+reason)
		flags.Lookup(name).NoOptDefVal = "true"
		flags.Lookup(name).Hidden = true
	}
	for _, name := range withoutMeaning {
		flags.Var(&ignoredFlag{name, &f.ignored}, name, "of TensorFlow Serving; changes nothing")
		flags.Lookup(name).NoOptDefVal = "true"
		flags.Lookup(name).Hidden = true
	}
}

func (f *serveFlags) addModels(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.models, "model", nil, "NAME=DIR: a model and the folder of its versions, or s3://BUCKET/PATH, gs://, azblob://; may be repeated")
	flags.StringArrayVar(&f.traffic, "traffic", nil, "MODEL=VERSION:WEIGHT,...: versions of --model among which requests that name none are divided")
	flags.StringArrayVar(&f.shadow, "shadow", nil, "MODEL=VERSION[:PERCENT]: a version of --model that gets copies of requests, whose answers are compared")
	flags.StringVar(&f.configFile, "model-config-file", "", "ModelServerConfig as text: models, version policies, labels, request logs")
	flags.IntVar(&f.configPoll, "model-config-file-poll-wait-seconds", 0, "time between two looks at --model-config-file; 0: one look")
	flags.StringVar(&f.root, "model-root", "", "serve every model below this folder, also those that come later")
	flags.StringVar(&f.name, "model-name", "default", "with --model-base-path: name of the model")
	flags.StringVar(&f.basePath, "model-base-path", "", "the same as --model NAME=DIR, by --model-name")
	flags.IntVar(&f.poll, "file-system-poll-wait-seconds", 1, "time between two looks for versions; 0: one look, and at each reload")
	flags.StringVar(&f.cacheDir, "model-cache-dir", "", "folder in which models of s3://, gs:// and azblob:// are kept while they are served; empty: the system's for temporary files")
	flags.Int64Var(&f.cacheBytes, "model-cache-max-bytes", objectstore.DefaultMaxBytes, "largest version that is copied from there")
	flags.IntVar(&f.startWait, "startup-wait-seconds", 0, "how long to wait at the start for models that are not on disk yet")
	flags.IntVar(&f.loaded, "max-loaded-models", 0, "load models when they are asked for, and keep this many; 0: load all at once")
	flags.IntVar(&f.loadThreads, "num-load-threads", 0, "versions that load at the same time, after the start (default 1)")
	flags.IntVar(&f.retries, "max-num-load-retries", 5, "further attempts where loading fails for a reason that may pass, at the start for any reason but unknown ops")
	flags.IntVar(&f.retryMicros, "load-retry-interval-micros", 60_000_000, "time between attempts to load")
	flags.BoolVar(&f.unloadFirst, "unload-before-load", false, "unload the old version before the new one is loaded: less memory, a gap in service")
	flags.BoolVar(&f.anyLabels, "allow-version-labels-for-unavailable-models", false, "new labels may name versions that are not available")
	flags.BoolVar(&f.warmUp, "enable-model-warmup", true, "replay a version's warm-up requests before it serves")
	flags.IntVar(&f.warmUpRuns, "num-request-iterations-for-warmup", 1, "how often each of them is replayed")
	flags.BoolVar(&f.loadCheck, "load-check", true, "load a version only if its element types have kernels and its signatures make a dry run; false: if its ops are known")
	flags.StringVar(&f.check, "check", "", "list what the SavedModel in this folder, or its newest version, needs and the server does not have, and end")
	flags.StringVar(&f.tags, "saved-model-tags", "serve", "tags of the graph that is served, exactly these, separated by commas")
}

func (f *serveFlags) addPorts(flags *pflag.FlagSet) {
	flags.IntVar(&f.port, "port", 8500, "gRPC port; 0: a free one, -1: none")
	flags.IntVar(&f.restPort, "rest-port", 8501, "REST port; 0: a free one, -1: none")
	flags.StringVar(&f.host, "host", "localhost", "address of both ports; localhost: 127.0.0.1 and [::1]; 0.0.0.0: all, for other machines")
	flags.StringVar(&f.socket, "grpc-socket-path", "", "Unix socket for gRPC besides")
	flags.StringVar(&f.cert, "tls-cert", "", "TLS on both ports: certificates in PEM, read again when they change")
	flags.StringVar(&f.key, "tls-key", "", "their key in PEM")
	flags.StringVar(&f.clientCA, "tls-client-ca", "", "ask for clients' certificates signed by these authorities")
	flags.StringVar(&f.sslFile, "ssl-config-file", "", "TLS on the gRPC port: SSLConfig as text")
	flags.StringVar(&f.tokenFile, "token-file", "", "file with a bearer token that requests must show")
	flags.BoolVar(&f.remoteAdmin, "allow-remote-admin", false, "let other machines reload, profile and reflect without a token")
	flags.BoolVar(&f.profiler, "enable-profiler", true, "answer TensorBoard and tf.profiler.experimental.client, who capture what the server does, on the gRPC port")
	flags.BoolVar(&f.cors, "rest-api-enable-cors-support", false, "let web pages of any origin call")
	flags.BoolVar(&f.noPage, "no-page", false, "leave the web page out")
}

func (f *serveFlags) addRequests(flags *pflag.FlagSet) {
	flags.IntVar(&f.restTimeout, "rest-api-timeout-in-ms", 30_000, "longest time of a REST call")
	flags.IntVar(&f.maxBytes, "max-request-bytes", 0, "largest request, also decompressed; 0: 512 MiB over REST, 2 GiB over gRPC")
	flags.Int64Var(&f.memory, budget.ServerFlag, 0, "memory that all requests may hold together; 0: three quarters of the machine's or control group's")
	flags.Int64Var(&f.memoryEach, budget.RequestFlag, 0, "memory that a request may hold, in the model too; 0: 32 MiB and eight times its size, and in the model what its rows need")
	flags.BoolVar(&f.batching, "enable-batching", false, "let requests share runs of a model")
	flags.StringVar(&f.batchingFile, "batching-parameters-file", "", "BatchingParameters as text")
	flags.BoolVar(&f.perModelBatching, "enable-per-model-batching-parameters", false, "batch only models with a batching_params.pbtxt in the version's folder, by these parameters")
	flags.StringVar(&f.device, "device", "", "computes the models: /gpu:N or /cpu:0; empty: the first GPU where there is one")
	flags.BoolVar(&f.softPlacement, "soft-placement", true, "run an op on the host where the device does not have it; false: refuse the model")
	flags.IntVar(&f.runs, "max-concurrent-runs", 0, "runs of a model at the same time; 0: as many as there are CPUs")
	flags.StringVar(&f.maxWait, "max-wait-ms", "0", "refuse requests that would wait longer for their turn; auto: longer than a run takes; 0: none")
	flags.BoolVar(&f.content, "enable-serialization-as-tensor-content", false, "tensors in gRPC replies as tensor_content")
	flags.BoolVar(&f.checkMethods, "enable-signature-method-name-check", false, "a signature answers only requests of its method")
	flags.StringVar(&f.monitoringFile, "monitoring-config-file", "", "MonitoringConfig as text: path of the metrics, or none")
	flags.StringVar(&f.traces, "trace-endpoint", "", "host:port of an OTLP collector for spans (or OTEL_EXPORTER_OTLP_ENDPOINT)")
	flags.BoolVar(&f.accessLog, "access-log", false, "log a line for each request")
	flags.StringVar(&f.requestLogs, "request-log-dir", "", "folder that request logs (logging_config of a model) lie below; empty: none")
	flags.IntVar(&f.drain, "drain-seconds", 30, "how long requests may take after a signal to end")
	flags.BoolVar(&f.json, "json", false, "print the addresses as a JSON object when the models are available")
}

// ignoredFlag is a flag that is only recorded.
type ignoredFlag struct {
	name  string
	given *[]string
}

// Set implements pflag.Value.
func (i *ignoredFlag) Set(string) error { *i.given = append(*i.given, "--"+i.name); return nil }

// String implements pflag.Value.
func (i *ignoredFlag) String() string { return "" }

// Type implements pflag.Value.
func (i *ignoredFlag) Type() string { return "string" }

// warn reports flags that have no effect.
func (f *serveFlags) warn(log *slog.Logger) {
	if len(f.ignored) > 0 {
		log.Warn("flags of TensorFlow Serving that change nothing here", "flags", strings.Join(f.ignored, ","))
	}
}
