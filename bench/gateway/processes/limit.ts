import { Agent, createServer, request as sendRequest, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

/*
 * What the gateway is compared with: a proxy that passes everything on to the upstream, and a handler that answers every
 * request with the same bytes. Only one of them works at a time.
 */
interface Task {
  upstreamPort: number;
  answer: { status: number; headers: IncomingHttpHeaders; body: string };
}

let task: Task | null = null;
const agent = new Agent({ keepAlive: true });

const proxy = createServer((request, response) => {
  const { url: path, method, headers } = request;
  const options = { host: '127.0.0.1', port: task?.upstreamPort, path, method, headers, agent };
  const passed = sendRequest(options, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  passed.on('error', () => response.destroy());
  request.pipe(passed);
});

const handler = createServer((request, response) => {
  request.resume().on('end', () => {
    if (task === null) return response.destroy();
    const { status, headers, body } = task.answer;
    response.writeHead(status, headers).end(body);
  });
});

for (const server of [proxy, handler]) {
  server.keepAliveTimeout = 120_000;
  server.listen(0, '127.0.0.1');
}
process.on('message', (message: Task) => {
  task = message;
  process.send?.([proxy, handler].map((server) => (server.address() as AddressInfo).port));
});
process.on('disconnect', () => process.exit());
