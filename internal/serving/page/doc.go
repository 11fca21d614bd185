// Package page is a web page for people beside the REST interface: the models
// with their versions and states, live charts of requests and latencies, and a
// form that sends a request and shows the answer. It loads nothing from other
// servers: the scripts are in the binary, and the browser may load no others.
package page
