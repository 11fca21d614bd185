package serving

import (
	"encoding/binary"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/serving/openinference"
	"github.com/goestimator/goestimator/internal/serving/openinference/pb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// invoker calls methods of the Open Inference Protocol.
func invoker(t *testing.T, s *running) func(method string, in, out proto.Message) error {
	t.Helper()
	conn, err := grpc.NewClient(s.Addresses().GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return func(method string, in, out proto.Message) error {
		return conn.Invoke(testContext(t), "/"+openinference.Name+"/"+method, in, out)
	}
}

// TestOpenInferenceTypes: each datatype comes back as it was sent, in JSON, as raw bytes over both ports, and as typed contents.
func TestOpenInferenceTypes(t *testing.T) {
	s := run(t, Options{Models: single(folders(t, "m/1"), "m")}).wait(t)
	call, url := invoker(t, s), "http://"+s.Addresses().REST+"/v2/models/m/infer"
	for datatype, c := range map[string]struct {
		signature, text string
		raw             []byte
	}{
		"BOOL": {"bool", "true, false", []byte{1, 0}}, "UINT8": {"uint8", "0, 255", []byte{0, 255}}, "INT8": {"int8", "-128, 127", []byte{128, 127}},
		"UINT16": {"uint16", "1, 65535", []byte{1, 0, 255, 255}}, "INT16": {"int16", "-1, 2", []byte{255, 255, 2, 0}},
		"UINT32": {"uint32", "1, 4294967295", []byte{1, 0, 0, 0, 255, 255, 255, 255}}, "INT32": {"int32", "-2, 1", []byte{254, 255, 255, 255, 1, 0, 0, 0}},
		"INT64":  {"int64", "-1, 9007199254740993", []byte{255, 255, 255, 255, 255, 255, 255, 255, 1, 0, 0, 0, 0, 0, 32, 0}},
		"UINT64": {"uint64", "1, 18446744073709551615", []byte{1, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255}},
		"FP32":   {"float32", "1.5, -2.0", []byte{0, 0, 192, 63, 0, 0, 0, 192}}, "FP64": {"float64", "1.5, -2.0", []byte{0, 0, 0, 0, 0, 0, 248, 63, 0, 0, 0, 0, 0, 0, 0, 192}},
		"FP16": {"float16", "1.5, -2.0", []byte{0, 62, 0, 192}}, "BF16": {"bfloat16", "1.5, -2.0", []byte{192, 63, 0, 192}},
		"BYTES": {"string", `"ab", ""`, []byte{2, 0, 0, 0, 'a', 'b', 0, 0, 0, 0}},
	} {
		body := `{"id": "7", "parameters": {"signature_name": "` + c.signature + `"}, "inputs": [{"name": "x", "shape": [2], "datatype": "` + datatype + `", "data": [` + c.text + `]}]}`
		if got := do(t, http.MethodPost, url, body); !strings.HasPrefix(got, "200") || !strings.Contains(got, `"data": [`+c.text+`]`) || !strings.Contains(got, `"datatype": "`+datatype+`"`) {
			t.Errorf("%s: got %s", datatype, got)
		}
		r := &pb.ModelInferRequest{ModelName: "m", Parameters: map[string]*pb.InferParameter{"signature_name": {ParameterChoice: &pb.InferParameter_StringParam{StringParam: c.signature}}},
			Inputs: []*pb.ModelInferRequest_InferInputTensor{{Name: "x", Datatype: datatype, Shape: []int64{2}}}, RawInputContents: [][]byte{c.raw}}
		out := &pb.ModelInferResponse{}
		if err := call("ModelInfer", r, out); err != nil || len(out.RawOutputContents) != 1 || !slices.Equal(out.RawOutputContents[0], c.raw) || out.Outputs[0].Datatype != datatype {
			t.Errorf("%s: got %v, %v", datatype, out, err)
		}
	}
}

// TestOpenInferenceHostile: invalid requests are refused with the codes of the protocol, over both ports.
func TestOpenInferenceHostile(t *testing.T) {
	s := run(t, Options{Models: single(folders(t, "m/1"), "m")}).wait(t)
	at := "http://" + s.Addresses().REST + "/v2/"
	for name, c := range map[string]struct{ path, body, want string }{
		"no JSON":              {"models/m/infer", "x", "400"},
		"a list":               {"models/m/infer", "[]", "400"},
		"inputs is no list":    {"models/m/infer", `{"inputs": 7}`, "400"},
		"an input is none":     {"models/m/infer", `{"inputs": [7]}`, "400"},
		"a shape that lies":    {"models/m/infer", `{"inputs": [{"name": "x", "shape": [1000000000000], "datatype": "FP32", "data": [1]}]}`, "400"},
		"a negative size":      {"models/m/infer", `{"inputs": [{"name": "x", "shape": [-1], "datatype": "FP32", "data": [1]}]}`, "400"},
		"no data":              {"models/m/infer", `{"inputs": [{"name": "x", "shape": [1], "datatype": "FP32"}]}`, "400"},
		"raw without raw":      {"models/m/infer", `{"inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "parameters": {"binary_data_size": 4}}]}`, "400"},
		"raw beyond all":       {"models/m/infer", `{"inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "parameters": {"binary_data_size": 9223372036854775807}}]}`, "400"},
		"twice":                {"models/m/infer", `{"inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [1]}, {"name": "x", "shape": [1], "datatype": "FP32", "data": [1]}]}`, "400"},
		"another input":        {"models/m/infer", `{"inputs": [{"name": "z", "shape": [1], "datatype": "FP32", "data": [1]}]}`, "400"},
		"another output":       {"models/m/infer", `{"inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [1]}], "outputs": [{"name": "z"}]}`, "400"},
		"another type":         {"models/m/infer", `{"inputs": [{"name": "x", "shape": [1], "datatype": "INT32", "data": [1]}]}`, "400"},
		"a type nobody has":    {"models/m/infer", `{"inputs": [{"name": "x", "shape": [1], "datatype": "FP8", "data": [1]}]}`, "400"},
		"another model":        {"models/none/infer", `{}`, "404"},
		"another version":      {"models/m/versions/7/infer", `{}`, "404"},
		"another label":        {"models/m/versions/stable/infer", `{}`, "400"},
		"another path":         {"models/m/explain", `{}`, "404"},
		"a load of nothing":    {"repository/models/none/load", "", "404"},
		"an unload of nothing": {"repository/models/none/unload", "", "404"},
	} {
		if got := do(t, http.MethodPost, at+c.path, c.body); !strings.HasPrefix(got, c.want+" {") || !strings.Contains(got, `"error": "`) {
			t.Errorf("%s: got %s, expected %s", name, got, c.want)
		}
	}
	call := invoker(t, s)
	x := &pb.ModelInferRequest_InferInputTensor{Name: "x", Datatype: "FP32", Shape: []int64{1}}
	full := &pb.ModelInferRequest_InferInputTensor{Name: "x", Datatype: "FP32", Shape: []int64{1}, Contents: &pb.InferTensorContents{Fp32Contents: []float32{1}}}
	seven := &pb.InferParameter{ParameterChoice: &pb.InferParameter_Int64Param{Int64Param: 7}}
	for name, c := range map[string]struct {
		r    *pb.ModelInferRequest
		want codes.Code
	}{
		"no model":                    {&pb.ModelInferRequest{}, codes.InvalidArgument},
		"another model":               {&pb.ModelInferRequest{ModelName: "none"}, codes.NotFound},
		"a long name":                 {&pb.ModelInferRequest{ModelName: strings.Repeat("m", 5000)}, codes.InvalidArgument},
		"too many raws":               {&pb.ModelInferRequest{ModelName: "m", Inputs: []*pb.ModelInferRequest_InferInputTensor{x}, RawInputContents: [][]byte{{}, {}}}, codes.InvalidArgument},
		"no contents":                 {&pb.ModelInferRequest{ModelName: "m", Inputs: []*pb.ModelInferRequest_InferInputTensor{x}}, codes.InvalidArgument},
		"a signature that is no name": {&pb.ModelInferRequest{ModelName: "m", Inputs: []*pb.ModelInferRequest_InferInputTensor{full}, Parameters: map[string]*pb.InferParameter{"signature_name": seven}}, codes.InvalidArgument},
		"another signature": {&pb.ModelInferRequest{ModelName: "m", Inputs: []*pb.ModelInferRequest_InferInputTensor{full},
			Parameters: map[string]*pb.InferParameter{"signature_name": {ParameterChoice: &pb.InferParameter_StringParam{StringParam: "none"}}}}, codes.FailedPrecondition},
		"classification": {&pb.ModelInferRequest{ModelName: "m", Inputs: []*pb.ModelInferRequest_InferInputTensor{full},
			Outputs: []*pb.ModelInferRequest_InferRequestedOutputTensor{{Name: "y", Parameters: map[string]*pb.InferParameter{"classification": seven}}}}, codes.InvalidArgument},
		"an output twice": {&pb.ModelInferRequest{ModelName: "m", Inputs: []*pb.ModelInferRequest_InferInputTensor{full},
			Outputs: []*pb.ModelInferRequest_InferRequestedOutputTensor{{Name: "y"}, {Name: "y"}}}, codes.InvalidArgument},
		"more inputs":      {&pb.ModelInferRequest{ModelName: "m", Inputs: []*pb.ModelInferRequest_InferInputTensor{full, x}}, codes.InvalidArgument},
		"raw and contents": {&pb.ModelInferRequest{ModelName: "m", Inputs: []*pb.ModelInferRequest_InferInputTensor{full}, RawInputContents: [][]byte{{0, 0, 0, 0}}}, codes.InvalidArgument},
		"a long input":     {&pb.ModelInferRequest{ModelName: "m", Inputs: []*pb.ModelInferRequest_InferInputTensor{{Name: strings.Repeat("x", 5000), Datatype: "FP32", Shape: []int64{0}}}}, codes.InvalidArgument},
		"an empty input":   {&pb.ModelInferRequest{ModelName: "m", Inputs: []*pb.ModelInferRequest_InferInputTensor{{}}}, codes.InvalidArgument},
	} {
		if err := call("ModelInfer", c.r, &pb.ModelInferResponse{}); status.Code(err) != c.want {
			t.Errorf("%s: got %v, expected %v", name, err, c.want)
		}
	}
}

// TestOpenInferenceBinary: raw tensors follow the JSON, in requests and in replies.
func TestOpenInferenceBinary(t *testing.T) {
	s := run(t, Options{Models: single(folders(t, "m/1"), "m")}).wait(t)
	header := `{"parameters": {"binary_data_output": true}, "inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "parameters": {"binary_data_size": 4}}]}`
	r, err := http.NewRequestWithContext(testContext(t), http.MethodPost, "http://"+s.Addresses().REST+"/v2/models/m/infer", strings.NewReader(header+"\x00\x00\x80\x3f"))
	if err != nil {
		t.Fatal(err)
	}
	for length, want := range map[int]int{len(header): 200, len(header) + 5: 400, -1: 400, 3: 400} {
		q := r.Clone(testContext(t))
		q.Body = http.NoBody
		if q.Body, err = r.GetBody(); err != nil {
			t.Fatal(err)
		}
		q.Header["Inference-Header-Content-Length"] = []string{strconv.Itoa(length)}
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(q)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != want {
			t.Errorf("length %d: got %d %s, expected %d", length, resp.StatusCode, text, want)
		}
		if want == 200 && binary.LittleEndian.Uint32(text[len(text)-4:]) != 0x40200000 { // 2.5
			t.Errorf("got %q", text)
		}
	}
}

// TestRepository: callers with permission can unload and load a model.
func TestRepository(t *testing.T) {
	root := folders(t, "m/1", "n/1")
	s := run(t, Options{Models: single(root, "m", "n")}).wait(t)
	call, at := invoker(t, s), "http://"+s.Addresses().REST+"/v2/"
	if err := call("RepositoryModelUnload", &pb.RepositoryModelUnloadRequest{ModelName: "m"}, &pb.RepositoryModelUnloadResponse{}); err != nil {
		t.Fatal(err)
	}
	if got := get(t, at+"models/m/ready"); !strings.HasPrefix(got, "404") {
		t.Errorf("an unloaded model: got %s", got)
	}
	if got := get(t, at+"models/n/ready"); !strings.HasPrefix(got, "200") {
		t.Errorf("another model: got %s", got)
	}
	if got := do(t, http.MethodPost, at+"repository/index", ""); !strings.Contains(got, `"unloaded"`) || strings.Count(got, `"READY"`) != 1 {
		t.Errorf("index: got %s", got)
	}
	if got := do(t, http.MethodPost, at+"repository/index", `{"ready": true}`); strings.Contains(got, `"m"`) {
		t.Errorf("index of what is ready: got %s", got)
	}
	if got := do(t, http.MethodPost, at+"repository/models/m/load", ""); !strings.HasPrefix(got, "200") {
		t.Errorf("load: got %s", got)
	}
	if got := do(t, http.MethodPost, at+"repository/index", `{"ready": true}`); strings.Count(got, `"READY"`) != 2 {
		t.Errorf("index: got %s", got)
	}
	open := run(t, Options{Models: single(root, "m"), Listen: Listen{Host: "0.0.0.0"}}).wait(t)
	_, port, _ := strings.Cut(open.Addresses().REST, "]:")
	if port == "" {
		_, port, _ = strings.Cut(open.Addresses().REST, ":")
	}
	if got := do(t, http.MethodPost, "http://127.0.0.1:"+port+"/v2/repository/models/m/unload", ""); !strings.HasPrefix(got, "403") {
		t.Errorf("without a token: got %s", got)
	}
	if err := invoker(t, open)("RepositoryModelUnload", &pb.RepositoryModelUnloadRequest{ModelName: "m"}, &pb.RepositoryModelUnloadResponse{}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("without a token: got %v", err)
	}
}
