package replica

import (
	"encoding/json"
	"fmt"
)

type taskJSON struct {
	Type  string `json:"type"`
	Index int    `json:"index"`
}

type denseJSON struct {
	Cluster     map[string][]string `json:"cluster"`
	Task        taskJSON            `json:"task"`
	Environment string              `json:"environment"`
}

type sparseJSON struct {
	Cluster struct {
		Worker map[string]string `json:"worker"`
		PS     []string          `json:"ps"`
	} `json:"cluster"`
	Task taskJSON `json:"task"`
}

// TFConfig returns the TF_CONFIG of a task as TFJob writes it: every task of the
// cluster (job to addresses host:port; the evaluator is listed too), jobs in
// alphabetical order, and the environment "cloud". If the cluster has a single
// task it is empty, which means that the variable is not set.
func TFConfig(cluster map[string][]string, t Task) string {
	total := 0
	for _, addresses := range cluster {
		total += len(addresses)
	}
	if total <= 1 {
		return ""
	}
	return text(denseJSON{cluster, taskJSON(t), "cloud"})
}

// SparseTFConfig returns the TF_CONFIG of a task in TFJob's dynamic-worker form:
// a worker knows itself and all parameter servers (null if there are none), a
// parameter server itself, and every other task nobody.
func SparseTFConfig(cluster map[string][]string, t Task) string {
	c := sparseJSON{Task: taskJSON(t)}
	c.Cluster.Worker, c.Cluster.PS = map[string]string{}, []string{}
	switch t.Type {
	case PS:
		c.Cluster.PS = []string{cluster[PS][t.Index]}
	case Worker:
		c.Cluster.PS = cluster[PS]
		c.Cluster.Worker[fmt.Sprint(t.Index)] = cluster[Worker][t.Index]
	}
	return text(c)
}

// text encodes a value with only strings and integers, which cannot fail.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("replica: encode TF_CONFIG: %v", err))
	}
	return string(b)
}
