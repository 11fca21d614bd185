package serving

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/admission/admissiontest"
	"github.com/goestimator/goestimator/internal/serving/grpcapi"
	profilerpb "github.com/goestimator/goestimator/internal/serving/profiler/pb"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
)

// logLines keeps the lines of a log.
type logLines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *logLines) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *logLines) log() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// lines returns the lines that contain all parts.
func (j *logLines) lines(parts ...string) (found []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for l := range strings.Lines(j.text.String()) {
		if !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(l, p) }) {
			found = append(found, l)
		}
	}
	return found
}

const (
	reloadMethod   = "/tensorflow.serving.ModelService/HandleReloadConfigRequest"
	profilerMethod = "/tensorflow.ProfilerService/Terminate"
)

// reload asks a server to reload a config in text form.
func reload(ctx context.Context, conn *grpc.ClientConn, text string) error {
	cfg := &config.ModelServerConfig{}
	if err := prototext.Unmarshal([]byte(text), cfg); err != nil {
		return err
	}
	return conn.Invoke(ctx, reloadMethod, &apis.ReloadConfigRequest{Config: cfg}, &apis.ReloadConfigResponse{})
}

// plain is a gRPC connection to a target.
func plain(t *testing.T, target string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// If other machines can reach a server that requires no token, they may only predict. Each admin call is logged with
// its peer, whether it is admitted or not.
func TestAdminCalls(t *testing.T) {
	token, err := NewToken("s3cret")
	if err != nil {
		t.Fatal(err)
	}
	const far, near, bearer = "0.0.0.0", "localhost", "Bearer s3cret"
	for _, c := range []struct {
		name          string
		host, header  string
		token         *Token
		allowed, unix bool
		predict       codes.Code
		admin         codes.Code
		warns         []string
	}{
		{name: "loopback", host: near},
		{name: "loopback, token", host: near, token: token, predict: codes.Unauthenticated, admin: codes.Unauthenticated},
		{name: "loopback, token shown", host: near, token: token, header: bearer},
		{name: "open", host: far, admin: codes.PermissionDenied, warns: []string{"without TLS", "reloading, profiling and reflection are refused"}},
		{name: "open, flag", host: far, allowed: true, warns: []string{"without TLS", "and replace the models"}},
		{name: "open, socket", host: far, unix: true, warns: []string{"without TLS", "reloading, profiling and reflection are refused"}},
		{name: "open, token", host: far, token: token, predict: codes.Unauthenticated, admin: codes.Unauthenticated, warns: []string{"without TLS"}},
		{name: "open, token and flag", host: far, token: token, allowed: true, predict: codes.Unauthenticated, admin: codes.Unauthenticated, warns: []string{"without TLS"}},
		{name: "open, token shown", host: far, token: token, header: bearer, warns: []string{"without TLS"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := folders(t, "m/1", "n/1")
			var j logLines
			o := Options{Models: single(root, "m"), Listen: Listen{Host: c.host, Socket: filepath.Join(t.TempDir(), "socket")}, Token: c.token, RemoteAdmin: c.allowed, Log: j.log()}
			s := run(t, o).wait(t)
			target, peer := net.JoinHostPort("127.0.0.1", portOf(t, s.Addresses().GRPC)), "peer=127.0.0.1:"
			if c.unix {
				target, peer = "unix:"+s.Addresses().Socket, `peer="unix socket"`
			}
			conn, ctx := plain(t, target), testContext(t)
			if c.header != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, "authorization", c.header)
			}
			err := conn.Invoke(ctx, "/"+grpcapi.PredictionService+"/GetModelMetadata", &apis.GetModelMetadataRequest{ModelSpec: &apis.ModelSpec{Name: "m"}, MetadataField: []string{"signature_def"}}, &apis.GetModelMetadataResponse{})
			if status.Code(err) != c.predict {
				t.Errorf("a call that is not admin: %v", err)
			}
			names, err := reflected(ctx, conn)
			if status.Code(err) != c.admin || err == nil && !slices.Contains(names, grpcapi.ModelService) {
				t.Errorf("reflection: %v, %v", names, err)
			}
			err = reload(ctx, conn, `model_config_list { config { name: "n" model_platform: "tensorflow" base_path: "`+filepath.Join(root, "n")+`" } }`)
			if status.Code(err) != c.admin {
				t.Errorf("reload: %v", err)
			}
			if got := strings.Join(s.models.Models(), ","); (got == "n") != (c.admin == codes.OK) {
				t.Errorf("models %s", got)
			}
			if err := conn.Invoke(ctx, profilerMethod, &profilerpb.TerminateRequest{SessionId: "none"}, &profilerpb.TerminateResponse{}); status.Code(err) != c.admin {
				t.Errorf("profiler: %v", err)
			}
			for _, method := range []string{reloadMethod, profilerMethod, "ServerReflectionInfo"} {
				if l := j.lines(`msg="admin call"`, method, peer); len(l) != 1 {
					t.Errorf("%s: %q in\n%s", method, l, &j.text)
				}
				if l := j.lines(`msg="admin call failed"`, method, peer, "code="+c.admin.String()); (len(l) == 1) != (c.admin != codes.OK) {
					t.Errorf("%s: %q in\n%s", method, l, &j.text)
				}
			}
			if l := j.lines("level=WARN msg=\"other machines"); len(l) != len(c.warns) || !slices.EqualFunc(l, c.warns, strings.Contains) {
				t.Errorf("warnings %q, expected %q", l, c.warns)
			}
		})
	}
}

// An admin call whose message cannot be received is logged like any other.
func TestDamagedAdminCalls(t *testing.T) {
	var j logLines
	s := run(t, Options{Models: single(folders(t, "m/1"), "m"), Log: j.log()}).wait(t)
	raw := admissiontest.NewRawClient(t, s.Addresses().GRPC)
	for i, body := range [][]byte{nil, {0, 0}, admissiontest.Framed(false, 1, []byte{0xff}), admissiontest.Framed(true, 4, []byte("gzip"))} {
		if r := raw.Call(t, reloadMethod, bytes.NewReader(body), "Grpc-Encoding", "gzip"); r.Status != "13" {
			t.Errorf("%q: %+v", body, r)
		}
		if l := j.lines(`msg="admin call`, reloadMethod, "peer=127.0.0.1:"); len(l) != 2*(i+1) {
			t.Errorf("%q: %d lines in\n%s", body, len(l), &j.text)
		}
	}
}

// With TLS and a token there are no warnings.
func TestNothingToWarnOf(t *testing.T) {
	token, err := NewToken("s3cret")
	if err != nil {
		t.Fatal(err)
	}
	files, _ := certificate(t)
	secure, err := files.Config()
	if err != nil {
		t.Fatal(err)
	}
	var j logLines
	run(t, Options{Models: single(folders(t, "m/1"), "m"), Listen: Listen{Host: "0.0.0.0"}, TLS: secure, RESTTLS: secure, Token: token, Log: j.log()}).wait(t)
	if l := j.lines("level=WARN"); l != nil {
		t.Errorf("%q", l)
	}
	var half logLines
	run(t, Options{Models: single(folders(t, "m/1"), "m"), Listen: Listen{Host: "0.0.0.0"}, TLS: secure, Token: token, Log: half.log()}).wait(t)
	if l := half.lines("level=WARN", "without TLS"); len(l) != 1 {
		t.Errorf("TLS on one port alone: %q", l)
	}
}

// The REST port accepts admin calls from programs, but not from web pages of other origins.
func TestPagesOfOthers(t *testing.T) {
	for _, c := range []struct {
		host string
		cors bool
	}{{"localhost", false}, {"localhost", true}, {"0.0.0.0", false}, {"0.0.0.0", true}} {
		s := run(t, Options{Models: single(folders(t, "m/1"), "m"), Listen: Listen{Host: c.host}, Metrics: "/metrics", Requests: Requests{CORS: c.cors}}).wait(t)
		port := portOf(t, s.Addresses().REST)
		ask := func(method, path string, headers ...string) int {
			r, err := http.NewRequestWithContext(testContext(t), method, "http://127.0.0.1:"+port+path, strings.NewReader(`{"instances": [1]}`))
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(headers); i += 2 {
				r.Header.Set(headers[i], headers[i+1])
			}
			r.Host = r.Header.Get("Host")
			resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if allow := resp.Header.Get("Access-Control-Allow-Origin"); strings.HasPrefix(path, "/v1/") && resp.StatusCode == 200 && (allow == "*") != c.cors {
				t.Errorf("%+v: %s %s allows %q", c, method, path, allow)
			}
			return resp.StatusCode
		}
		for _, path := range []string{"/v1/models/m:predict", "/v1/models/m", "/v1/models:list", "/page/models.json", "/page/traffic.json", "/", "/metrics", "/readyz"} {
			method := "GET"
			if strings.HasSuffix(path, "predict") {
				method = "POST"
			}
			for _, kind := range []string{"", "text/plain", "application/json", "application/x-www-form-urlencoded"} {
				if got := ask(method, path, "Content-Type", kind); got != 200 {
					t.Errorf("%+v: %s as %q: %d", c, path, kind, got)
				}
			}
			want := map[bool]int{false: 403, true: 200}
			if got := ask(method, path, "Origin", "https://evil.example"); got != want[c.cors] {
				t.Errorf("%+v: %s from another page: %d", c, path, got)
			}
			if got := ask(method, path, "Origin", "http://127.0.0.1:"+port); got != 200 {
				t.Errorf("%+v: %s from the own page: %d", c, path, got)
			}
			if got := ask(method, path, "Host", "evil.example:"+port); got != want[c.host == "0.0.0.0"] {
				t.Errorf("%+v: %s called by another name: %d", c, path, got)
			}
			if got := ask(method, path, "Host", "evil.example:"+port, "Origin", "http://evil.example:"+port); got != want[c.host == "0.0.0.0"] {
				t.Errorf("%+v: %s from a page whose name leads here: %d", c, path, got)
			}
		}
		if got := ask("OPTIONS", "/v1/models/m:predict", "Origin", "https://page.example"); got != map[bool]int{false: 403, true: 200}[c.cors] {
			t.Errorf("%+v: preflight: %d", c, got)
		}
	}
}
