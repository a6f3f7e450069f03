import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { Query } from 'pg';
import type { Connection } from './lead-set.ts';

/** The part of pg's connection that copies, which its types leave out. */
interface CopyConnection {
  stream: Duplex;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(reason: string): void;
}

/**
 * Runs a `copy ... from stdin` with `chunks`, as fast as the server takes them. If `chunks` fails, nothing is copied, and
 * it rejects with that error.
 */
export const copyIn = async (
  client: Connection,
  text: string,
  chunks: AsyncIterable<string>,
): Promise<void> => {
  let isOver = false;
  let failure: { error: unknown } | null = null;
  const send = async (connection: CopyConnection): Promise<void> => {
    try {
      for await (const chunk of chunks) {
        if (isOver) return;
        connection.sendCopyFromChunk(Buffer.from(chunk));
        if (connection.stream.writableNeedDrain) await drained(connection.stream);
      }
      connection.endCopyFrom();
    } catch (error) {
      failure = { error };
      connection.sendCopyFail('the input ended early');
    }
  };
  // The method is called when the server is ready for the rows.
  const query = Object.assign(new Query(text), { handleCopyInResponse: send });
  client.query(query);
  try {
    await once(query, 'end');
  } catch (error) {
    isOver = true;
    const { error: reason } = failure ?? { error };
    throw reason;
  }
};

const drained = (stream: Duplex): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      stream.off('drain', end).off('close', end);
      resolve();
    };
    stream.on('drain', end).on('close', end);
  });
