import { z } from 'zod';
import type { StoreSettings } from '../../store/store-settings.ts';

export const placeFields = {
  place: z
    .enum(['embedded', 'postgres'])
    .describe('`embedded`: in `DATA_DIR/leads`; `postgres`: in the database of the store.'),
};

export const toPlaceView = ({ databaseUrl }: Pick<StoreSettings, 'databaseUrl'>) => ({
  place: databaseUrl === null ? ('embedded' as const) : ('postgres' as const),
});
