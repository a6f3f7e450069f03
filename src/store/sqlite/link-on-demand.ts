import { StoreError } from '../store-error.ts';
import type { WorkerLink } from './worker-link.ts';

/** Starts a worker with the first call. If it could not start or has died, the next call starts another one. */
export const linkOnDemand = (open: () => Promise<WorkerLink>): WorkerLink => {
  let current: Promise<WorkerLink> | null = null;
  let isClosed = false;
  const start = (): Promise<WorkerLink> => {
    const link = open();
    current = link;
    return link;
  };
  const forget = (link: Promise<WorkerLink>): void => {
    if (current === link) current = null;
  };
  return {
    call: async (name, input) => {
      if (isClosed) throw new StoreError('closed', 'the store was closed');
      const link = current ?? start();
      const worker = await link.catch((error: unknown) => {
        forget(link);
        throw error;
      });
      try {
        return await worker.call(name, input);
      } catch (error) {
        if (error instanceof StoreError && error.reason === 'crashed') forget(link);
        throw error;
      }
    },
    close: async () => {
      isClosed = true;
      const worker = await current?.catch(() => null);
      await worker?.close();
    },
  };
};
