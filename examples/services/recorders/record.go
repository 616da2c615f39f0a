// Drives Redis with four clients and writes what they saw: go run record.go PORT > log.jsonl
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

func ask(connection net.Conn, answers *bufio.Reader, words ...string) (any, error) {
	connection.SetDeadline(time.Now().Add(500 * time.Millisecond))
	fmt.Fprintf(connection, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(connection, "$%d\r\n%s\r\n", len(word), word)
	}
	line, err := answers.ReadString('\n')
	line = strings.TrimSpace(line)
	if err != nil || line == "$-1" || line[0] != '$' {
		return nil, err
	}
	length, _ := strconv.Atoi(line[1:])
	text := make([]byte, length+2)
	_, err = io.ReadFull(answers, text)
	return string(text[:length]), err
}

func client(process int, output chan<- string, done *sync.WaitGroup) {
	defer done.Done()
	dice := rand.New(rand.NewSource(int64(process)))
	connection, _ := net.Dial("tcp", "127.0.0.1:"+os.Args[1])
	answers := bufio.NewReader(connection)
	for number := 0; number < 300; number++ {
		key, value := string("abc"[dice.Intn(3)]), fmt.Sprintf("%d-%d", process, number)
		entry := map[string]any{"process": process, "op": "get", "key": key}
		words := []string{"GET", key}
		if dice.Intn(2) == 0 {
			entry["op"], entry["arg"], words = "set", value, []string{"SET", key, value}
		}
		entry["call"] = time.Now().UnixNano() // right before the request is sent
		result, err := ask(connection, answers, words...)
		if err == nil {
			entry["return"] = time.Now().UnixNano() // right after the answer came
			if entry["op"] == "get" {
				entry["result"] = result
			}
		} else { // sent, not answered: no return, nobody knows
			connection, _ = net.Dial("tcp", "127.0.0.1:"+os.Args[1])
			answers = bufio.NewReader(connection)
		}
		line, _ := json.Marshal(entry)
		output <- string(line)
	}
}

func main() {
	fmt.Println(`{"seriatim":1,"spec":"redis","unit":"ns","since":"unix"}`)
	output, done := make(chan string, 10000), &sync.WaitGroup{}
	for process := 0; process < 4; process++ {
		done.Add(1)
		go client(process, output, done)
	}
	done.Wait()
	close(output)
	for line := range output {
		fmt.Println(line)
	}
}
