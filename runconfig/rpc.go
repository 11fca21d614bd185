package runconfig

import "github.com/goestimator/goestimator/runconfig/violation"

// RPC configures connections between the tasks of a cluster.
type RPC struct {
	// auto: TLS if certificates are set, otherwise plaintext with one warning. tls: plaintext is refused.
	Security string `yaml:"security"`
	// PEM file of the CA certificates; one of them must have signed the certificate of each peer.
	CAFile string `yaml:"ca_file,omitempty"`
	// PEM file of this task's certificate. It is read again when it changes.
	CertFile string `yaml:"cert_file,omitempty"`
	// PEM file of the private key of cert_file.
	KeyFile string `yaml:"key_file,omitempty"`
	// Require a certificate from tasks that connect (mutual TLS).
	ClientAuth bool `yaml:"client_auth,omitempty"`
	// Name that peers' certificates must have. Empty: the host by which a peer is reached.
	ServerName string `yaml:"server_name,omitempty"`
	// Seconds after which a peer that does not answer counts as lost.
	PeerTimeoutSecs float64 `yaml:"peer_timeout_secs"`
	// Seconds that the other tasks wait for a lost peer to come back, before they end with exit code 138.
	RejoinSecs float64 `yaml:"rejoin_secs"`
	// Longest duration of one call, in seconds.
	CallTimeoutSecs float64 `yaml:"call_timeout_secs"`
	// Largest message in MiB.
	MaxMessageMB int `yaml:"max_message_mb"`
}

// DefaultRPC returns what an empty section gives.
func DefaultRPC() RPC {
	return RPC{Security: "auto", PeerTimeoutSecs: 30, RejoinSecs: 60, CallTimeoutSecs: 60, MaxMessageMB: 64}
}

// validate reports fields that contradict each other.
func (r RPC) validate(vs *violation.List) {
	vs.OneOf("rpc.security", r.Security, "auto", "tls")
	vs.Require((r.CertFile == "") == (r.KeyFile == ""), "rpc.cert_file", r.CertFile, "expected together with rpc.key_file")
	vs.Require(r.Security != "tls" || r.CertFile != "", "rpc.security", r.Security, "which needs rpc.cert_file and rpc.key_file")
	vs.Require(!r.ClientAuth || r.CAFile != "", "rpc.client_auth", r.ClientAuth, "which needs rpc.ca_file")
	vs.Require(r.PeerTimeoutSecs > 0, "rpc.peer_timeout_secs", r.PeerTimeoutSecs, "expected > 0")
	vs.Require(r.RejoinSecs >= 0, "rpc.rejoin_secs", r.RejoinSecs, "expected >= 0")
	vs.Require(r.CallTimeoutSecs > 0, "rpc.call_timeout_secs", r.CallTimeoutSecs, "expected > 0")
	vs.Require(r.MaxMessageMB > 0 && r.MaxMessageMB < 2048, "rpc.max_message_mb", r.MaxMessageMB, "expected 1 to 2047")
}
