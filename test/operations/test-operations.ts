import { isTool } from '../../src/mcp/tool-list.ts';
import { readConfig } from '../../src/config/config.ts';
import { createOperations } from '../../src/operations/index.ts';

/** The operations of a gateway with nothing configured, but for the largest limit of a search. */
export const operations = createOperations({ ...readConfig({}, null).search, maxLimit: 50 });

/** Those that are tools. */
export const toolOperations = operations.filter(isTool);
