package accept

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	grpcgzip "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/goestimator/goestimator/internal/testkit"
)

// attack is a request that asks for far more memory than its own size: gRPC by method, REST by path.
type attack struct {
	name    string
	at      string
	body    []byte
	expands bool // fewer values than elements: allows another 64 MiB
	rows    bool // rows are sent one by one: allows 8 times the body more, for the model
}

// rawBytes is a codec for messages that are already bytes. It drops the reply.
type rawBytes struct{}

func (rawBytes) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}
func (rawBytes) Unmarshal(mem.BufferSlice, any) error { return nil }
func (rawBytes) Name() string                         { return "proto" }

// part is a field of a message.
func part(n protowire.Number, of ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), bytes.Join(of, nil))
}

func integer(n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), v)
}

// filled repeats a part to approximately a number of bytes.
func filled(size int, part []byte) []byte { return bytes.Repeat(part, size/len(part)) }

func shaped(sizes ...uint64) []byte {
	var all []byte
	for _, s := range sizes {
		all = append(all, part(2, integer(1, s))...)
	}
	return part(2, all)
}

// grpcAttacks returns attacks of approximately the given decompressed size each.
func grpcAttacks(size int) []attack {
	of := func(signature string) []byte { return part(1, part(1, []byte("m")), part(3, []byte(signature))) }
	with := func(head []byte, rest ...[]byte) []byte { return append(bytes.Clone(head), bytes.Join(rest, nil)...) }
	input := func(parts ...[]byte) []byte { return part(2, part(1, []byte("x")), part(2, parts...)) }
	floats, text := integer(1, 1), integer(1, 7)
	example := func(name string, values []byte) []byte { // a tf.Example with one feature of floats
		return part(1, part(1, part(1, []byte(name)), part(2, part(2, part(1, values)))))
	}
	list := func(examples ...[]byte) []byte { return part(2, part(1, examples...)) }
	under := func(context []byte, n int) []byte { return part(2, part(2, filled(2*n, part(1)), part(2, context))) }
	classify, regress := of("classify_x_to_y"), of("regress_x_to_y")
	var names []byte
	for i := range size / 12 {
		names = append(names, part(2, part(1, []byte(strconv.Itoa(i))))...)
	}
	task := func(method string) []byte {
		return part(1, part(1, part(1, []byte("m")), part(3, []byte("classify_x_to_y"))), part(2, []byte("tensorflow/serving/"+method)))
	}
	predict := of("")
	all := []attack{
		{name: "rows", at: "Predict", body: with(predict, input(floats, shaped(uint64(size/4)), part(5, make([]byte, size))))},
		{name: "names", at: "Predict", body: with(predict, names)},
		{name: "empty tensors", at: "Predict", body: with(predict, filled(size, part(2)))},
		{name: "dimensions", at: "Predict", body: with(predict, input(floats, part(2, filled(size, part(2)))))},
		{name: "variants", at: "Predict", body: with(predict, input(floats, filled(size, part(15))))},
		{name: "resources", at: "Predict", body: with(predict, input(floats, filled(size, part(14))))},
		{name: "single numbers", at: "Predict", body: with(predict, input(integer(1, 9), shaped(uint64(size/2)), filled(size, integer(10, 0))))},
		{name: "empty strings", at: "Predict", body: with(predict, input(text, shaped(uint64(size/2)), filled(size, part(8))))},
		{name: "one value", at: "Predict", body: with(predict, input(floats, shaped(16<<20), part(5, make([]byte, 4)))), expands: true},
		{name: "one string", at: "Predict", body: with(predict, input(text, shaped(1<<20), part(8, make([]byte, size)))), expands: true},
		{name: "no elements", at: "Predict", body: with(predict, input(floats, shaped(1<<40, 0)))},
		{name: "fewer elements", at: "Predict", body: with(predict, input(floats, shaped(1<<27, 0)))},
		{name: "output filter", at: "Predict", body: with(predict, filled(size, part(3)))},
		{name: "unknown fields", at: "Predict", body: with(predict, filled(size, part(99)))},
		{name: "a long name", at: "Predict", body: part(1, part(1, filled(size, []byte("\x1b"))))},
		{name: "a long signature", at: "Predict", body: of(strings.Repeat("s", size))},
		{name: "another model", at: "Predict", body: with(part(1, part(1, []byte("none"))), filled(size, part(2)))},
		{name: "sessions", at: "SessionRun", body: filled(size, part(2))},
		{name: "metadata fields", at: "GetModelMetadata", body: with(part(1, part(1, []byte("m"))), filled(size, part(2)))},
		{name: "tasks", at: "MultiInference", body: filled(size, part(1))},
		{name: "models of tasks", at: "MultiInference", body: filled(size, part(1, part(1)))},
		{name: "examples of tasks", at: "MultiInference", body: with(task("classify"), list(filled(size, part(1))))},
	}
	for method, head := range map[string][]byte{"Classify": classify, "Regress": regress} {
		all = append(all,
			attack{name: "empty examples", at: method, body: with(head, list(filled(size, part(1))))},
			attack{name: "small examples", at: method, body: with(head, list(filled(size, part(1, example("x", make([]byte, 4)))))), rows: true},
			attack{name: "context", at: method, body: with(head, under(example("c", make([]byte, 4000)), size/2))},
			attack{name: "many values", at: method, body: with(head, list(part(1, example("x", make([]byte, size)))))},
			attack{name: "other features", at: method, body: with(head, list(part(1, filled(size, example("o", nil)))))},
			attack{name: "features again", at: method, body: with(head, list(part(1, filled(size, example("x", make([]byte, 4))))))})
	}
	return all
}

// restAttacks returns attacks of approximately the given decompressed size each.
func restAttacks(size int) []attack {
	list := func(key, element string) []byte {
		return []byte(`{"` + key + `":[` + strings.TrimSuffix(strings.Repeat(element+",", size/(len(element)+1)), ",") + "]}")
	}
	under := `{"signature_name":"classify_x_to_y","context":{"c":"` + strings.Repeat("c", 4000) + `"},`
	signed := func(signature string, body []byte) []byte {
		return append([]byte(`{"signature_name":"`+signature+`",`), body[1:]...)
	}
	all := []attack{{name: "no body", at: "/v1/models/m/metadata"}}
	for _, a := range []struct {
		name string
		body []byte
	}{
		{"numbers", list("instances", "1")}, {"lists", list("inputs", "[]")}, {"objects", list("instances", "{}")}, {"words", list("inputs", `""`)},
		{"escapes", list("inputs", `"\u0001"`)}, {"base64", list("inputs", `{"b64":"AAAA"}`)},
		{"brackets", append([]byte(`{"inputs":`), filled(size, []byte("["))...)}, {"brackets in a string", []byte(`{"inputs":"` + strings.Repeat("[{", size/2) + `"}`)},
		{"nested", []byte(`{"inputs":` + strings.Repeat("[", 1<<20-2) + "1" + strings.Repeat("]", 1<<20-2) + "}")}, {"spaces", filled(size, []byte(" "))},
		{"keys", []byte(`{` + strings.Repeat(`"":1,`, size/5) + `"inputs":[1]}`)},
	} {
		all = append(all, attack{name: a.name, at: "/v1/models/m:predict", body: a.body}, attack{name: a.name, at: "/v1/models/none:predict", body: a.body})
	}
	for _, method := range []string{"classify", "regress"} {
		signature := method + "_x_to_y"
		at := "/v1/models/m:" + method
		all = append(all, attack{name: "empty examples", at: at, body: signed(signature, list("examples", "{}"))},
			attack{name: "small examples", at: at, body: signed(signature, list("examples", `{"x":1}`))},
			attack{name: "many values", at: at, body: signed(signature, []byte(`{"examples":[{"x":[1`+strings.Repeat(",1", size/2)+`]}]}`))},
			attack{name: "context", at: at, body: append([]byte(under), list("examples", "{}")[1:]...)})
	}
	form := "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\n" + strings.Repeat("f", size) + "\r\n--b--\r\n"
	for _, at := range []string{"/page/models.json", "/page/traffic.json", "/page/signatures.json?model=m&version=123", "/v1/models/m/metadata", "/monitoring/prometheus/metrics"} {
		all = append(all, attack{name: "a form", at: at, body: []byte(form)})
	}
	return all
}

// peak returns the maximum memory of the process since forget, and its current memory, in bytes.
func (s *server) peak() (most, now int) {
	pid := strconv.Itoa(s.PID())
	return status(pid, "VmHWM") << 10, status(pid, "VmRSS") << 10
}

// forget resets the maximum memory of the process in the system.
func (s *server) forget() error {
	return os.WriteFile(filepath.Join("/proc", strconv.Itoa(s.PID()), "clear_refs"), []byte("5"), 0)
}

// send sends the request of an attack. Any answer is accepted.
func (s *server) send(conn *grpc.ClientConn, a attack, packed bool) error {
	ctx, stop := context.WithTimeout(s.t.Context(), patience)
	defer stop()
	if !strings.HasPrefix(a.at, "/") {
		how := []grpc.CallOption{grpc.ForceCodecV2(rawBytes{}), grpc.MaxCallRecvMsgSize(1 << 30)}
		if packed {
			how = append(how, grpc.UseCompressor(grpcgzip.Name))
		}
		service := "PredictionService"
		if a.at == "SessionRun" {
			service = "SessionService"
		}
		_ = conn.Invoke(ctx, "/tensorflow.serving."+service+"/"+a.at, a.body, nil, how...) // usually an error, which is fine
		return ctx.Err()
	}
	method, body := http.MethodPost, a.body
	if packed {
		body = gzipped(body)
	}
	if a.body == nil || strings.HasPrefix(a.at, "/page") || strings.HasPrefix(a.at, "/monitoring") || strings.HasSuffix(a.at, "metadata") {
		method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://"+s.REST+a.at, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if r.Header.Set("Content-Type", "application/json"); a.name == "a form" {
		r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	}
	if packed {
		r.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return ctx.Err() // refused before everything was sent
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // same here
	return ctx.Err()
}

func gzipped(data []byte) []byte {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed) // a valid level
	_, _ = z.Write(data)                              // to memory
	_ = z.Close()
	return out.Bytes()
}

// TestHostileMemory sends requests that ask for far more than their size to every entry point of a server, with and without
// compression. The process may grow by 64 MiB and ten times the decompressed bytes, and must release it.
func TestHostileMemory(t *testing.T) {
	const mib = 1 << 20
	sizes, all := []int{3 * mib}, thorough(t)
	if all {
		sizes = []int{64 << 10, 2 * mib, 24 * mib, 64 * mib}
	}
	if runtime.GOOS != "linux" {
		t.Skip("skipped: /proc says what memory a process has")
	}
	s := serve(t, "--model", "m="+testkit.Shared(t, "golden/tensorflow-serving/saved_model_half_plus_two_cpu"))
	conn, err := grpc.NewClient(s.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s.answer("/v1/models/m:predict", map[string]any{"instances": []any{1.0}}, "predictions")
	_, start := s.peak()
	if err := s.forget(); err != nil {
		t.Skipf("skipped: the system does not forget the most memory that a process had: %v", err)
	}
	worst, last := "", "nothing"
	most := 0.0
	for _, size := range sizes {
		for i, a := range append(grpcAttacks(size), restAttacks(size)...) {
			for _, packed := range []bool{false, true} {
				if !all && packed != (i%2 == 0) {
					continue // the short form sends each once
				}
				what := fmt.Sprintf("%s: %s, %d bytes, compressed %v", a.at, a.name, len(a.body), packed)
				s.calm(t, start+size/4, last)
				if err := s.forget(); err != nil {
					t.Fatal(err)
				}
				_, before := s.peak()
				last = what
				if err := s.send(conn, a, packed); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				allowed := 64*mib + 10*len(a.body)
				if a.expands {
					allowed += 64 * mib
				}
				if a.rows {
					allowed += 8 * len(a.body)
				}
				high, _ := s.peak()
				if grown := high - before; grown > allowed {
					t.Errorf("%s: the process grew by %d MiB, %d are allowed", what, grown/mib, allowed/mib)
				} else if share := float64(grown) / float64(allowed); share > most {
					most, worst = share, fmt.Sprintf("%s: %d MiB of %d", what, grown/mib, allowed/mib)
				}
			}
		}
	}
	t.Logf("the nearest to what is allowed: %s", worst)
	s.calm(t, start+sizes[len(sizes)-1]/4, last)
	s.answer("/v1/models/m:predict", map[string]any{"instances": []any{1.0}}, "predictions")
	if code := s.end(syscall.SIGTERM); code != 0 || crashed(s.log.String()) {
		t.Errorf("exit code %d", code)
	}
}

// calm waits until the process has released the memory of earlier requests. after names the last one.
func (s *server) calm(t *testing.T, start int, after string) {
	t.Helper()
	const spare = 24 << 20 // what the collector leaves
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		_, now := s.peak()
		if now <= start+spare {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after %s the process has %d MiB more than at its start", after, (now-start)>>20)
		}
	}
}
