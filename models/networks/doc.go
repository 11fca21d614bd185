// Package networks holds named networks, which compute logits from features. A model
// combines one with a head, which turns logits into predictions and a loss, and with
// an optimizer.
//
// In Go, a constructor makes a network: MLP(128, 64). New makes one by its name in a
// config file. It decodes parameters strictly: an unknown key or a value of the wrong
// type is an error that says what is expected. Register adds a network of your own.
package networks
