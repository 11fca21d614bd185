package main

func vectors(e *elem) {}
