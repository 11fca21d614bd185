package manager

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/serving/traffic"
	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
)

// choose returns the versions that policy asks for, the newest first; an empty policy asks for the latest one.
func choose(name string, all []versionDir, policy *config.FileSystemStoragePathSourceConfig_ServableVersionPolicy, warn func(string)) []versionDir {
	switch p := policy.GetPolicyChoice().(type) {
	case *config.FileSystemStoragePathSourceConfig_ServableVersionPolicy_All_:
		return all
	case *config.FileSystemStoragePathSourceConfig_ServableVersionPolicy_Specific_:
		var out []versionDir
		if len(p.Specific.GetVersions()) == 0 {
			warn(fmt.Sprintf("No specific versions requested for servable %s: expected some in its version policy 'specific'", name))
		}
		for _, number := range p.Specific.GetVersions() {
			i := slices.IndexFunc(all, func(v versionDir) bool { return v.number == number })
			switch {
			case i < 0:
				warn(fmt.Sprintf("Version %d of servable %s, which was requested to be served as a 'specific' version in the servable's version policy, was not found in the file system", number, name))
			case !slices.Contains(out, all[i]):
				out = append(out, all[i])
			}
		}
		return out
	}
	n := policy.GetLatest().GetNumVersions()
	if n == 0 {
		n = 1
	}
	return all[:min(uint64(n), uint64(len(all)))]
}

// addNamed adds the named versions among all to the chosen ones.
func addNamed(name string, chosen, all []versionDir, named []int64, warn func(string)) []versionDir {
	out := slices.Clone(chosen)
	has := func(list []versionDir, number int64) int {
		return slices.IndexFunc(list, func(v versionDir) bool { return v.number == number })
	}
	for _, number := range named {
		i := has(all, number)
		switch {
		case i < 0:
			warn(fmt.Sprintf("Version %d of servable %s, which the division of its traffic names, was not found in the file system", number, name))
		case has(out, number) < 0:
			out = append(out, all[i])
		}
	}
	slices.SortStableFunc(out, func(a, b versionDir) int { return cmp.Compare(b.number, a.number) })
	return out
}

// Pick returns the version numbers that the config of a model asks for, out of there.
func Pick(m *config.ModelConfig, there []int64) []int64 {
	all := make([]versionDir, len(there))
	for i, n := range there {
		all[i] = versionDir{number: n}
	}
	slices.SortFunc(all, func(a, b versionDir) int { return cmp.Compare(b.number, a.number) })
	var out []int64
	for _, v := range picked(m, all, func(string) {}) {
		out = append(out, v.number)
	}
	return out
}

// picked returns the versions that the config of a model asks for, the newest first: by its version policy and its traffic rules.
func picked(m *config.ModelConfig, all []versionDir, warn func(string)) []versionDir {
	chosen := choose(m.GetName(), all, m.GetModelVersionPolicy(), warn)
	if rules, err := traffic.Of(m); err == nil && len(rules.Versions()) > 0 { // errors were reported when the config came
		chosen = addNamed(m.GetName(), chosen, all, rules.Versions(), warn)
	}
	return chosen
}
