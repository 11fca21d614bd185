// Package ps is the parameter server and its client.
package ps
