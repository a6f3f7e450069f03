import { serveCalls } from '../../kit/threads/serve-calls.ts';
import { readAnswer } from './read-answer.ts';

/* Reads the large answers of upstreams. */
serveCalls(readAnswer);
