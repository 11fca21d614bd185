package manager

import (
	"fmt"
	"slices"

	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
)

// choose returns the versions (the newest first) that policy asks for: the
// latest one where it says nothing.
func choose(name string, all []versionDir, policy *config.FileSystemStoragePathSourceConfig_ServableVersionPolicy, warn func(string)) []versionDir {
	switch p := policy.GetPolicyChoice().(type) {
	case *config.FileSystemStoragePathSourceConfig_ServableVersionPolicy_All_:
		return all
	case *config.FileSystemStoragePathSourceConfig_ServableVersionPolicy_Specific_:
		var out []versionDir
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
