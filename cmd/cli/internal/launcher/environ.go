package launcher

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/distributed/replica"
	"github.com/goestimator/goestimator/internal/platform/freeport"
)

// TokenEnv is the variable with the secret that the tasks of a job share.
const TokenEnv = "GOESTIMATOR_JOB_TOKEN"

// JobIDEnv is the variable with the name that the tasks of a job share.
const JobIDEnv = "GOESTIMATOR_RUN_JOB_ID"

// environs returns the environment of each task, in the order of Tasks.
func (l Local) environs(ports *freeport.Reservation) []([]string) {
	tasks := l.Tasks()
	cluster := map[string][]string{}
	for i, t := range tasks {
		cluster[t.Type] = append(cluster[t.Type], ports.Address(i))
	}
	base := slices.DeleteFunc(slices.Clone(l.Environ), func(pair string) bool { return strings.HasPrefix(pair, "TF_CONFIG=") })
	given := func(name string) bool {
		return slices.ContainsFunc(base, func(pair string) bool { return strings.HasPrefix(pair, name+"=") && pair != name+"=" })
	}
	if !given(TokenEnv) {
		base = append(base, TokenEnv+"="+random(32))
	}
	if !given(JobIDEnv) {
		base = append(base, JobIDEnv+"=launch-"+random(8))
	}
	base = append(base, l.coreEnv()...)
	var out [][]string
	trains := func(t replica.Task) bool { return t.Type != "ps" && t.Type != "evaluator" }
	all, trainers := 0, 0 // tasks that share the machine's GPUs, and how many so far
	for _, t := range tasks {
		if trains(t) {
			all++
		}
	}
	for _, t := range tasks {
		env := slices.Clone(base)
		if trains(t) {
			env = append(env, fmt.Sprintf("LOCAL_RANK=%d", trainers), fmt.Sprintf("LOCAL_WORLD_SIZE=%d", all))
			trainers++
		}
		if text := replica.TFConfig(cluster, t); text != "" {
			env = append(env, "TF_CONFIG="+text)
		}
		out = append(out, env)
	}
	return out
}

// coreEnv tells the Go runtime and BLAS libraries how many cores to use.
func (j Job) coreEnv() []string {
	if j.CoresPerTask == 0 {
		return nil
	}
	return []string{fmt.Sprintf("GOMAXPROCS=%d", j.CoresPerTask), fmt.Sprintf("OMP_NUM_THREADS=%d", j.CoresPerTask)}
}

// random returns n random bytes in hexadecimal.
func random(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
