import { readConfig } from '../../src/config.ts';
import { createOperations } from '../../src/operations/index.ts';

/** The operations of a gateway with nothing configured, but for the largest limit of a search. */
export const operations = createOperations({ ...readConfig({}, null).search, maxLimit: 50 });
