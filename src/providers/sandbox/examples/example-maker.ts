import type { Json } from '../../../kit/json.ts';
import { ProviderError } from '../../provider-error.ts';
import { ThreadError } from '../../../kit/threads/thread-error.ts';
import { createThreadPool } from '../../../kit/threads/thread-pool.ts';

export type ExampleMaker = ReturnType<typeof createExampleMaker>;

/** Makes example values of JSON schemas, in a thread because callers' schemas are not trusted. */
export const createExampleMaker = () => {
  const pool = createThreadPool<Json, string>({
    file: new URL('./worker.ts', import.meta.url),
    size: 1,
    queueLimit: 100,
    timeoutMs: 5_000,
    maxHeapMb: 256,
  });
  return {
    /** Returns a valid value as JSON text, the same for the same schema. Throws ProviderError, or the signal's reason. */
    make: async (schema: Json, signal: AbortSignal): Promise<string> => {
      try {
        return await pool.run(schema, signal);
      } catch (error) {
        throw error instanceof ThreadError ? toProviderError(error) : error;
      }
    },
    close: () => pool.close(),
  };
};

const toProviderError = (error: ThreadError): ProviderError => {
  const isOverload = error.reason === 'full' || error.reason === 'closed';
  return new ProviderError(`the sandbox has no example of the schema: ${error.message}`, {
    failure: 'fatal',
    code: isOverload ? 'upstream_unavailable' : 'invalid_parameter',
    cause: error,
  });
};
