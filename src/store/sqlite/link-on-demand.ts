import { StoreError } from '../store-error.ts';
import type { StoreLink } from './worker-link.ts';

/** Opens a connection with the first call. If it could not be opened or has died, the next call opens another one. */
export const linkOnDemand = (open: () => Promise<StoreLink>): StoreLink => {
  let opening: Promise<StoreLink> | null = null;
  let opened: StoreLink | null = null;
  let isClosed = false;
  const start = async (): Promise<StoreLink> => {
    try {
      opened = await open();
      return opened;
    } catch (error) {
      opening = null;
      throw error;
    }
  };
  return {
    call: async (name, input) => {
      if (isClosed) throw new StoreError('closed', 'the store was closed');
      const worker = opened ?? (await (opening ??= start()));
      try {
        return await worker.call(name, input);
      } catch (error) {
        if (error instanceof StoreError && error.reason === 'crashed' && opened === worker)
          opened = opening = null;
        throw error;
      }
    },
    close: async () => {
      isClosed = true;
      const worker = await opening?.catch(() => null);
      await worker?.close();
    },
  };
};
