import type { Json } from '../../../kit/json.ts';
import { serveCalls } from '../../../kit/threads/serve-calls.ts';
import { makeExample } from './make-example.ts';

serveCalls((schema: Json): string => JSON.stringify(makeExample(schema)));
