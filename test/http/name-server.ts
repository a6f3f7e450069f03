import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';

/** What a name server says of a name; null: it says nothing at all. */
export interface Records {
  /** Four bytes each. */
  four?: number[][];
  /** Sixteen bytes each. */
  six?: number[][];
}

/** A name server on loopback that goes with the test; answers its address with the port. Other names do not exist. */
export const startNameServer = async (names: Record<string, Records | null>): Promise<string> => {
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const { name, end } = readName(query);
    const records = names[name];
    if (records === null) return;
    const isFour = query.readUInt16BE(end) === 1;
    const found = (isFour ? records?.four : records?.six) ?? [];
    const head = Buffer.from(query.subarray(0, 12));
    head.writeUInt16BE(records === undefined ? 0x8183 : 0x8180, 2);
    head.writeUInt16BE(found.length, 6);
    head.writeUInt32BE(0, 8);
    const answers = found.map((bytes) =>
      Buffer.from([0xc0, 12, 0, isFour ? 1 : 28, 0, 1, 0, 0, 0, 60, 0, bytes.length, ...bytes]),
    );
    socket.send(Buffer.concat([head, query.subarray(12, end + 4), ...answers]), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  onTestFinished(() => {
    socket.close();
  });
  return `127.0.0.1:${socket.address().port}`;
};

/** The name in question, in lower case, and where it ends. */
const readName = (query: Buffer): { name: string; end: number } => {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
};
