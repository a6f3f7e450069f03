import { useEffect, useRef, useState } from 'preact/hooks';
import { useAction } from '../use-console.ts';
import { Problem } from './parts.tsx';

interface ConfirmProps {
  /** Says in words what will happen. */
  question: string;
  yes: string;
  onYes(): void;
  onNo(): void;
}

/** Asks once more before a change that cannot be undone, or that moves money. */
const Confirm = ({ question, yes, onYes, onNo }: ConfirmProps) => {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-label={yes} aria-describedby="question" onClose={onNo}>
      <p id="question">{question}</p>
      <div class="row">
        <button
          type="button"
          class="main"
          onClick={() => {
            dialog.current?.close();
            onYes();
          }}
        >
          {yes}
        </button>
        {/* The key that asked may still be held down. */}
        <button type="button" autofocus onClick={() => dialog.current?.close()}>
          Cancel
        </button>
      </div>
    </dialog>
  );
};

interface Asked extends Pick<ConfirmProps, 'question' | 'yes'> {
  act(): Promise<void>;
}

/** Does what a person has confirmed. `dialog` is the question while it is asked, and the refusal of what was done. */
export const useConfirmed = () => {
  const { isBusy, problem, run } = useAction();
  const [asked, ask] = useState<Asked | null>(null);
  const dialog = (
    <>
      <Problem text={problem} />
      {asked !== null && <Confirm {...asked} onYes={() => void run(asked.act)} onNo={() => ask(null)} />}
    </>
  );
  return { isBusy, run, ask, dialog };
};

interface ActionProps extends Pick<Asked, 'act'> {
  label: string;
  /** Names the button where the label alone does not. */
  name?: string;
  /** Is asked before. Absent: nothing is. */
  question?: string;
  yes?: string;
}

/** A button that changes something, after a question where one is due. */
export const Action = ({ label, name, question, yes = label, act }: ActionProps) => {
  const { isBusy, run, ask, dialog } = useConfirmed();
  const begin = (): void => (question === undefined ? void run(act) : ask({ question, yes, act }));
  return (
    <>
      <button type="button" aria-label={name} disabled={isBusy} onClick={begin}>
        {label}
      </button>
      {dialog}
    </>
  );
};
