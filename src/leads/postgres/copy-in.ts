import type { Duplex } from 'node:stream';
import type { Submittable } from 'pg';
import type { Connection } from './lead-set.ts';

/** The part of pg's connection that copies, which its types leave out. */
interface CopyConnection {
  stream: Duplex;
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(reason: string): void;
}

/** Has the methods that pg calls on the query that it runs. */
interface CopyQuery {
  submit(connection: Pick<CopyConnection, 'query'>): void;
  handleCopyInResponse(connection: CopyConnection): void;
  handleCommandComplete(): void;
  handleReadyForQuery(): void;
  handleError(error: Error): void;
}

/**
 * Runs a `copy ... from stdin` with `chunks`, as fast as the server takes them. If `chunks` fails, nothing is copied, and
 * it rejects with that error.
 */
export const copyIn = (client: Connection, text: string, chunks: AsyncIterable<string>): Promise<void> => {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
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
  const query: CopyQuery = {
    submit: (connection) => connection.query(text),
    handleCopyInResponse: (connection) => void send(connection),
    handleCommandComplete: () => undefined,
    handleReadyForQuery: () => resolve(),
    handleError: (error) => {
      isOver = true;
      reject(failure === null ? error : failure.error);
    },
  };
  client.query<Submittable & CopyQuery>(query);
  return promise;
};

const drained = (stream: Duplex): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      stream.off('drain', end).off('close', end);
      resolve();
    };
    stream.on('drain', end).on('close', end);
  });
