import { describeInterruptions } from './describe-interruptions.ts';

describeInterruptions('solana');
