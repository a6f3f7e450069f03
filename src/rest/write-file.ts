import type { ServerResponse } from 'node:http';
import type { FileAnswer } from '../operations/answer.ts';
import { contentDisposition } from './serve-content.ts';
import { writeText } from './write-events.ts';

/** Writes a file part by part, at the reader's speed. Throws as the maker of the parts; the file is then broken off. */
export const writeFile = async (
  response: ServerResponse,
  { contentType, fileName, parts }: FileAnswer,
  { isWanted }: { isWanted: boolean },
): Promise<void> => {
  const headers = {
    'content-type': contentType,
    'content-disposition': contentDisposition(fileName),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  };
  if (isWanted)
    for await (const part of parts) {
      if (response.destroyed) return;
      // The first part may fail, and is then refused as any other call.
      if (!response.headersSent) response.writeHead(200, headers);
      await writeText(response, part);
    }
  if (!response.headersSent) response.writeHead(200, headers);
  response.end();
};
