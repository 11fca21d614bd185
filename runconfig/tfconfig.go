package runconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/runconfig/violation"
)

// TaskOf reads the cluster and the task of a TF_CONFIG whose jobs may have any names, as for tf.train.Server. Unlike
// [FromTFConfig] it derives no role from them. Without a task, the index is -1 and the job "". Errors wrap [ErrMistake].
func TaskOf(tfConfig string) (cluster ClusterSpec, job string, index int, err error) {
	var vs violation.List
	tf := parseTFConfig(tfConfig, &vs)
	if err := vs.Err(); err != nil {
		return cluster, "", -1, Mistake(err)
	}
	placeOwnPS(&tf)
	if index = -1; tf.taskIndex != nil {
		index = *tf.taskIndex
	}
	return tf.cluster, tf.taskType, index, nil
}

// tfConfig is the content of a TF_CONFIG, before a role is derived from it.
type tfConfig struct {
	cluster       ClusterSpec
	taskType      string
	taskIndex     *int
	taskBad       bool // a mistake in task was already reported
	service       map[string]any
	sessionMaster string
	evalMaster    string
	modelDir      string
	environment   string
	rpcLayer      string
}

// parseTFConfig reads the JSON of TF_CONFIG. Unknown keys are ignored, as in
// TensorFlow.
func parseTFConfig(text string, vs *violation.List) tfConfig {
	tf := tfConfig{environment: "cloud", rpcLayer: "grpc"}
	if strings.TrimSpace(text) == "" {
		return tf
	}
	root, err := decodeObject([]byte(text))
	if err != nil {
		vs.Add("TF_CONFIG", text, "expected one JSON object: "+err.Error())
		return tf
	}
	p := tfParser{vs: vs}
	p.cluster(root, &tf)
	p.task(root, &tf)
	tf.service = p.service(root)
	tf.sessionMaster, _ = p.text(root, "session_master")
	tf.evalMaster, _ = p.text(root, "eval_session_master")
	if dir, ok := p.text(root, "model_dir"); ok {
		vs.Require(dir != "", "TF_CONFIG.model_dir", dir, "model_dir in TF_CONFIG should be non-empty")
		tf.modelDir = dir
	}
	if env, ok := p.text(root, "environment"); ok && env != "" {
		tf.environment = env
	}
	if layer, ok := p.text(root, "rpc_layer"); ok && layer != "" {
		vs.Require(layer == "grpc", "TF_CONFIG.rpc_layer", layer, "expected grpc, null or nothing")
	} else if _, given := root["rpc_layer"]; given {
		tf.rpcLayer = ""
	}
	return tf
}

func decodeObject(text []byte) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	var root map[string]json.RawMessage
	if err := d.Decode(&root); err != nil {
		return nil, describeJSON(err)
	}
	if root == nil {
		return nil, errors.New("it is null")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("there is more text after it, at byte %d", d.InputOffset())
	}
	return root, nil
}

func describeJSON(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("%w, at byte %d", err, syntax.Offset)
	}
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) {
		return fmt.Errorf("it is a JSON %s", typ.Value)
	}
	return err
}

// tfParser reads single keys of TF_CONFIG and reports what is wrong.
type tfParser struct{ vs *violation.List }

// null reports whether a key is absent or null.
func null(raw json.RawMessage) bool {
	return len(raw) == 0 || bytes.Equal(bytes.TrimSpace(raw), []byte("null"))
}

func (p tfParser) text(root map[string]json.RawMessage, key string) (string, bool) {
	raw := root[key]
	if null(raw) {
		return "", false
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		p.vs.Add("TF_CONFIG."+key, raw, "expected text")
		return "", false
	}
	return s, true
}

func (p tfParser) service(root map[string]json.RawMessage) map[string]any {
	raw := root["service"]
	if null(raw) {
		return nil
	}
	var service map[string]any
	if json.Unmarshal(raw, &service) != nil {
		p.vs.Add("TF_CONFIG.service", raw, `if "service" is set in TF_CONFIG, it must be a map`)
	}
	return service
}

func (p tfParser) task(root map[string]json.RawMessage, tf *tfConfig) {
	raw := root["task"]
	if null(raw) {
		return
	}
	task, err := decodeObject(raw)
	if err != nil {
		tf.taskBad = true
		p.vs.Add("TF_CONFIG.task", raw, "expected a map with type and index")
		return
	}
	if !null(task["type"]) && json.Unmarshal(task["type"], &tf.taskType) != nil {
		tf.taskBad = true
		p.vs.Add("TF_CONFIG.task.type", task["type"], "expected text")
	}
	if null(task["index"]) {
		return
	}
	text := strings.TrimSpace(strings.Trim(string(task["index"]), `"`))
	index, err := strconv.Atoi(text)
	if err != nil {
		tf.taskBad = true
		p.vs.Add("TF_CONFIG.task.index", task["index"], "expected an integer")
		return
	}
	tf.taskIndex = &index
}

// cluster reads the dense form {job: [address]}, the sparse form of TFJob's dynamic
// workers {job: {index: address}} under either of its names, and null.
func (p tfParser) cluster(root map[string]json.RawMessage, tf *tfConfig) {
	key, raw := "cluster", root["cluster"]
	if sparse := root["sparseCluster"]; !null(sparse) {
		if !null(raw) {
			p.vs.Add("TF_CONFIG.sparseCluster", sparse, "expected only one of cluster and sparseCluster")
		}
		key, raw = "sparseCluster", sparse
		tf.cluster.sparse = true
	}
	if null(raw) {
		return
	}
	field := "TF_CONFIG." + key
	jobs, err := decodeObject(raw)
	if err != nil {
		p.vs.Add(field, raw, "expected a map of jobs to addresses")
		return
	}
	for _, job := range slices.Sorted(maps.Keys(jobs)) {
		p.job(field+"."+job, job, jobs[job], tf)
	}
}

func (p tfParser) job(field, job string, raw json.RawMessage, tf *tfConfig) {
	if null(raw) {
		return
	}
	var list []any
	if json.Unmarshal(raw, &list) == nil {
		for i, a := range list {
			p.address(fmt.Sprintf("%s[%d]", field, i), job, i, a, tf)
		}
		return
	}
	var object map[string]any
	if json.Unmarshal(raw, &object) != nil {
		p.vs.Add(field, raw, "expected a list of addresses, or a map of index to address")
		return
	}
	tf.cluster.sparse = true
	for _, key := range slices.Sorted(maps.Keys(object)) {
		index, err := strconv.Atoi(key)
		if err != nil || index < 0 {
			p.vs.Add(field, key, "expected task indices >= 0 as keys")
			continue
		}
		p.address(field+"."+key, job, index, object[key], tf)
	}
}

func (p tfParser) address(field, job string, index int, value any, tf *tfConfig) {
	a, ok := value.(string)
	if !ok || a == "" {
		p.vs.Add(field, value, "expected an address host:port")
	}
	tf.cluster.set(job, index, a) // even if it is wrong, so that the counts below are right
}
