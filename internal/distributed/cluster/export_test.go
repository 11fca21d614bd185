package cluster

// IsBulk is for tests of package cluster_test.
var IsBulk = isBulk
