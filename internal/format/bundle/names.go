package bundle

import "fmt"

// IndexPath returns the name of a bundle's index file.
func IndexPath(prefix string) string { return prefix + ".index" }

// DataPath returns the name of a bundle's data file number shard of shards.
func DataPath(prefix string, shard, shards int) string {
	return fmt.Sprintf("%s.data-%05d-of-%05d", prefix, shard, shards)
}
