<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de_DE" sourcelanguage="en">
<context>
    <name>AliveModel</name>
    <message>
        <source>resident</source>
        <translation>dauernd belegt</translation>
    </message>
    <message>
        <source>%1 while %2 runs, at %3: %4 tensors, %5</source>
        <translation>%1 während %2 läuft, bei %3: %4 Tensoren, %5</translation>
    </message>
    <message>
        <source>Peak,</source>
        <translation>Spitze,</translation>
    </message>
    <message>
        <source>In memory</source>
        <translation>Im Speicher</translation>
    </message>
    <message>
        <source>workspace</source>
        <translation>Arbeitsspeicher der Op</translation>
    </message>
    <message>
        <source>the step itself</source>
        <translation>der Schritt selbst</translation>
    </message>
    <message>
        <source>always</source>
        <translation>immer</translation>
    </message>
    <message>
        <source>%1 tensors</source>
        <translation>%1 Tensoren</translation>
    </message>
    <message>
        <source>held while it runs</source>
        <translation>belegt, solange sie läuft</translation>
    </message>
    <message>
        <source>Module</source>
        <translation>Modul</translation>
    </message>
    <message>
        <source>Tensor</source>
        <translation>Tensor</translation>
    </message>
    <message>
        <source>What is held</source>
        <translation>Was belegt ist</translation>
    </message>
    <message>
        <source>Bytes</source>
        <translation>Bytes</translation>
    </message>
    <message>
        <source>That it takes now</source>
        <translation>Die er jetzt belegt</translation>
    </message>
    <message>
        <source>Share</source>
        <translation>Anteil</translation>
    </message>
    <message>
        <source>Of all that is held</source>
        <translation>An allem, was belegt ist</translation>
    </message>
    <message>
        <source>Of the op that made it</source>
        <translation>Der Op, die ihn erzeugt hat</translation>
    </message>
    <message>
        <source>Since</source>
        <translation>Seit</translation>
    </message>
    <message>
        <source>When it was made, or made again</source>
        <translation>Wann er erzeugt oder neu erzeugt wurde</translation>
    </message>
    <message>
        <source>Why</source>
        <translation>Warum</translation>
    </message>
    <message>
        <source>Who needs it</source>
        <translation>Wer ihn braucht</translation>
    </message>
    <message>
        <source>Shape</source>
        <translation>Form</translation>
    </message>
    <message>
        <source>Type and sizes of the tensor as it is made</source>
        <translation>Typ und Größen des Tensors, wie er entsteht</translation>
    </message>
    <message>
        <source>Line</source>
        <translation>Zeile</translation>
    </message>
    <message>
        <source>Of the model, where the tensor is made</source>
        <translation>Des Modells, in der der Tensor entsteht</translation>
    </message>
</context>
<context>
    <name>AliveNow</name>
    <message>
        <source>made now</source>
        <translation>entsteht gerade</translation>
    </message>
    <message>
        <source>read now</source>
        <translation>wird gerade gelesen</translation>
    </message>
    <message>
        <source>read by %1 in %2</source>
        <translation>wird von %1 in %2 gelesen</translation>
    </message>
    <message>
        <source>a result of the step</source>
        <translation>ein Ergebnis des Schritts</translation>
    </message>
    <message>
        <source>not read any more</source>
        <translation>wird nicht mehr gelesen</translation>
    </message>
</context>
<context>
    <name>AliveView</name>
    <message>
        <source>What is in memory</source>
        <translation>Was im Speicher liegt</translation>
    </message>
    <message>
        <source>Go to peak</source>
        <translation>Zur Spitze</translation>
    </message>
    <message>
        <source>Puts the cursor where the most memory is held</source>
        <translation>Setzt den Zeiger dorthin, wo am meisten Speicher belegt ist</translation>
    </message>
    <message>
        <source>By module</source>
        <translation>Nach Modul</translation>
    </message>
    <message>
        <source>What a schedule holds in memory appears here.</source>
        <translation>Hier steht, was ein Ablauf im Speicher hält.</translation>
    </message>
    <message>
        <source>Lifetimes</source>
        <translation>Lebensdauer</translation>
    </message>
    <message>
        <source>Shows from when to when each tensor is held, and what reads it (Enter on a row: with that tensor)</source>
        <translation>Zeigt, von wann bis wann jeder Tensor belegt ist und was ihn liest (Eingabetaste auf einer Zeile: mit diesem Tensor)</translation>
    </message>
</context>
<context>
    <name>AnswerStrip</name>
    <message>
        <source>The budget cannot be read</source>
        <translation>Das Budget ist nicht lesbar</translation>
    </message>
    <message>
        <source>The card to plan for. Some of its memory is left to the driver and to libraries;
any other limit is typed as the budget.</source>
        <translation>Die Karte, für die geplant wird. Ein Teil ihres Speichers bleibt dem Treiber und Bibliotheken;
jede andere Grenze wird als Budget eingegeben.</translation>
    </message>
    <message>
        <source>the budget</source>
        <translation>das Budget</translation>
    </message>
    <message>
        <source>%1, of which %2 are left to the driver</source>
        <translation>%1, davon bleiben %2 dem Treiber</translation>
    </message>
    <message>
        <source>Does it fit</source>
        <translation>Passt es</translation>
    </message>
    <message>
        <source>Batch size</source>
        <translation>Batchgröße</translation>
    </message>
    <message>
        <source>What another batch size would need and cost, and the largest one that fits</source>
        <translation>Was eine andere Batchgröße bräuchte und kostete, und die größte, die passt</translation>
    </message>
    <message>
        <source>Solve</source>
        <translation>Lösen</translation>
    </message>
    <message>
        <source>Show it</source>
        <translation>Zeigen</translation>
    </message>
    <message>
        <source>With the solver and the time limit that are set under Solve</source>
        <translation>Mit dem Verfahren und der Zeitgrenze, die unter Lösen eingestellt sind</translation>
    </message>
</context>
<context>
    <name>BatchDialog</name>
    <message>
        <source>&amp;What if</source>
        <translation>&amp;Was wäre wenn</translation>
    </message>
    <message>
        <source>Find the &amp;largest</source>
        <translation>Den gr&amp;ößten finden</translation>
    </message>
    <message>
        <source>&amp;Cancel</source>
        <translation>&amp;Abbrechen</translation>
    </message>
    <message>
        <source>&amp;Open it</source>
        <translation>Ö&amp;ffnen</translation>
    </message>
    <message>
        <source>Batch size</source>
        <translation>Batchgröße</translation>
    </message>
    <message>
        <source>a model file that takes any batch</source>
        <translation>eine Modelldatei, die jeden Batch nimmt</translation>
    </message>
    <message>
        <source> % more time</source>
        <translation> % mehr Zeit</translation>
    </message>
    <message>
        <source>any time</source>
        <translation>beliebig viel Zeit</translation>
    </message>
    <message>
        <source>Choose</source>
        <translation>Wählen</translation>
    </message>
    <message>
        <source>at most</source>
        <translation>höchstens</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>&amp;Inputs</source>
        <translation>&amp;Eingaben</translation>
    </message>
    <message>
        <source>B stands for the batch.</source>
        <translation>B steht für den Batch.</translation>
    </message>
    <message>
        <source>Budget</source>
        <translation>Budget</translation>
    </message>
    <message>
        <source>The model is captured with other batches, each in a process of its own. What is open stays as it is.</source>
        <translation>Das Modell wird mit anderen Batches aufgenommen, jeder in einem eigenen Prozess. Was offen ist, bleibt, wie es ist.</translation>
    </message>
    <message>
        <source>This graph does not tell where its model is. Choose a model file, or capture the step in Python at another batch and open that graph.</source>
        <translation>Dieser Graph sagt nicht, wo sein Modell liegt. Wählen Sie eine Modelldatei, oder nehmen Sie den Schritt in Python mit einem anderen Batch auf und öffnen Sie diesen Graphen.</translation>
    </message>
    <message>
        <source>Models (*.pt *.pth *.pt2)</source>
        <translation>Modelle (*.pt *.pth *.pt2)</translation>
    </message>
    <message>
        <source>%1: no such file</source>
        <translation>%1: Datei nicht gefunden</translation>
    </message>
    <message>
        <source>Asking</source>
        <translation>Frage läuft</translation>
    </message>
    <message>
        <source>Progress</source>
        <translation>Fortschritt</translation>
    </message>
    <message>
        <source>%1 (%2 s so far)</source>
        <translation>%1 (bisher %2 s)</translation>
    </message>
</context>
<context>
    <name>BlockTreeModel</name>
    <message>
        <source>%1 equal</source>
        <translation>%1 gleiche</translation>
    </message>
    <message>
        <source>op</source>
        <translation>Op</translation>
    </message>
    <message>
        <source>%1
op %2 of %3, %4
module %5</source>
        <translation>%1
Op %2 von %3, %4
Modul %5</translation>
    </message>
    <message>
        <source>(root)</source>
        <translation>(Wurzel)</translation>
    </message>
    <message>
        <source>%1
%2 ops</source>
        <translation>%1
%2 Ops</translation>
    </message>
    <message>
        <source>Block</source>
        <translation>Block</translation>
    </message>
    <message>
        <source>Module or block, in execution order</source>
        <translation>Modul oder Block, in der Reihenfolge der Ausführung</translation>
    </message>
    <message>
        <source>At the peak</source>
        <translation>An der Spitze</translation>
    </message>
    <message>
        <source>Bytes of what it made that are held at the peak, and their share of all</source>
        <translation>Bytes, die er erzeugt hat und die an der Spitze belegt sind, und ihr Anteil an allen</translation>
    </message>
    <message>
        <source>Kept</source>
        <translation>Behalten</translation>
    </message>
    <message>
        <source>How much of what it makes is kept, recomputed and offloaded</source>
        <translation>Wie viel von dem, was er erzeugt, behalten, neu berechnet und ausgelagert wird</translation>
    </message>
    <message>
        <source>Extra time</source>
        <translation>Mehrzeit</translation>
    </message>
    <message>
        <source>Spent on computing again</source>
        <translation>Für erneutes Berechnen</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>Zeit</translation>
    </message>
    <message>
        <source>Of each op run once</source>
        <translation>Wenn jede Op einmal läuft</translation>
    </message>
    <message>
        <source>Ops</source>
        <translation>Ops</translation>
    </message>
    <message>
        <source>ATen operations inside</source>
        <translation>ATen-Operationen darin</translation>
    </message>
    <message>
        <source>Made</source>
        <translation>Erzeugt</translation>
    </message>
    <message>
        <source>Bytes of all outputs, each op run once</source>
        <translation>Bytes aller Ausgaben, wenn jede Op einmal läuft</translation>
    </message>
    <message>
        <source>Repeats</source>
        <translation>Wiederholungen</translation>
    </message>
    <message>
        <source>Blocks with equal structure</source>
        <translation>Blöcke mit gleichem Aufbau</translation>
    </message>
    <message>
        <source>Kind</source>
        <translation>Art</translation>
    </message>
    <message>
        <source>Phase of the step</source>
        <translation>Phase des Schritts</translation>
    </message>
</context>
<context>
    <name>BlockTreeView</name>
    <message>
        <source>Search blocks and operators</source>
        <translation>Blöcke und Operatoren suchen</translation>
    </message>
    <message>
        <source>Enter goes from match to match, also in the graph</source>
        <translation>Die Eingabetaste geht von Treffer zu Treffer, auch im Graphen</translation>
    </message>
    <message>
        <source>Back to execution order</source>
        <translation>Zurück zur Reihenfolge der Ausführung</translation>
    </message>
    <message>
        <source>Execution order</source>
        <translation>Reihenfolge der Ausführung</translation>
    </message>
    <message>
        <source>Blocks</source>
        <translation>Blöcke</translation>
    </message>
    <message>
        <source>the graph&apos;s own</source>
        <translation>die des Graphen</translation>
    </message>
    <message>
        <source>The file&apos;s blocks, else module paths and structure</source>
        <translation>Die Blöcke der Datei, sonst Modulpfade und Aufbau</translation>
    </message>
    <message>
        <source>modules</source>
        <translation>Module</translation>
    </message>
    <message>
        <source>Module paths alone</source>
        <translation>Nur Modulpfade</translation>
    </message>
    <message>
        <source>articulation points</source>
        <translation>Artikulationspunkte</translation>
    </message>
    <message>
        <source>Where one tensor at most is read across, as Rockmate cuts</source>
        <translation>Wo höchstens ein Tensor hinübergelesen wird, wie Rockmate schneidet</translation>
    </message>
    <message>
        <source>bottom-up merging</source>
        <translation>Verschmelzen von unten</translation>
    </message>
    <message>
        <source>Small neighbours with small interfaces together, as HiRemate merges</source>
        <translation>Kleine Nachbarn mit kleinen Schnittstellen zusammen, wie HiRemate verschmilzt</translation>
    </message>
    <message>
        <source>repeats</source>
        <translation>Wiederholungen</translation>
    </message>
    <message>
        <source>What stands several times in a row</source>
        <translation>Was mehrmals hintereinander steht</translation>
    </message>
    <message>
        <source>Blocks by</source>
        <translation>Blöcke nach</translation>
    </message>
    <message>
        <source>Where blocks begin and end, here and in the picture</source>
        <translation>Wo Blöcke anfangen und enden, hier und im Bild</translation>
    </message>
    <message>
        <source>%1 found</source>
        <translation>%1 gefunden</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 von %2</translation>
    </message>
</context>
<context>
    <name>BudgetController</name>
    <message>
        <source>%1 of %2</source>
        <translation>%1 von %2</translation>
    </message>
    <message>
        <source>%1 times the %2 of the step</source>
        <translation>das %1-Fache der %2 des Schritts</translation>
    </message>
</context>
<context>
    <name>CaptureController</name>
    <message>
        <source>%1 could not be started: %2</source>
        <translation>%1 konnte nicht gestartet werden: %2</translation>
    </message>
    <message>
        <source>The capture crashed. The explorer and your files are unharmed.</source>
        <translation>Die Aufnahme ist abgestürzt. Der Explorer und Ihre Dateien sind unversehrt.</translation>
    </message>
    <message>
        <source>The capture ended with status %1 and said nothing.</source>
        <translation>Die Aufnahme endete mit Status %1 und ohne Meldung.</translation>
    </message>
    <message>
        <source>Models are captured by the Python package of Rematlas, which is not installed in the active environment, and there is no rematlas-runtime beside the explorer. Graphs (.graph.json) can be opened without it.</source>
        <translation>Modelle nimmt das Python-Paket von Rematlas auf, das in der aktiven Umgebung nicht installiert ist, und neben dem Explorer liegt kein rematlas-runtime. Graphen (.graph.json) lassen sich ohne es öffnen.</translation>
    </message>
</context>
<context>
    <name>CaptureDialog</name>
    <message>
        <source>Capture a model</source>
        <translation>Ein Modell aufnehmen</translation>
    </message>
    <message>
        <source>Choose</source>
        <translation>Wählen</translation>
    </message>
    <message>
        <source>Graph file</source>
        <translation>Graphdatei</translation>
    </message>
    <message>
        <source>Capture</source>
        <translation>Aufnehmen</translation>
    </message>
    <message>
        <source>Training graphs (*.graph.json)</source>
        <translation>Trainingsgraphen (*.graph.json)</translation>
    </message>
    <message>
        <source>Say where the graph file goes.</source>
        <translation>Geben Sie an, wohin die Graphdatei soll.</translation>
    </message>
    <message>
        <source>%1 is there already, and schedules and sweeps may belong to it. Press Capture again to replace it.</source>
        <translation>%1 gibt es schon, und Abläufe und Reihen können dazu gehören. Drücken Sie noch einmal auf Aufnehmen, um sie zu ersetzen.</translation>
    </message>
    <message>
        <source>Where in the program</source>
        <translation>Wo im Programm</translation>
    </message>
</context>
<context>
    <name>CaptureProgress</name>
    <message>
        <source>Loading the model</source>
        <translation>Das Modell wird geladen</translation>
    </message>
    <message>
        <source>Running one training step and noting what it does</source>
        <translation>Ein Trainingsschritt läuft und wird mitgeschrieben</translation>
    </message>
    <message>
        <source>Checking that the noted step gives the same results</source>
        <translation>Es wird geprüft, dass der mitgeschriebene Schritt dasselbe ergibt</translation>
    </message>
    <message>
        <source>Measuring the time of each operation</source>
        <translation>Die Zeit jeder Operation wird gemessen</translation>
    </message>
    <message>
        <source>Writing the graph</source>
        <translation>Der Graph wird geschrieben</translation>
    </message>
    <message>
        <source>about %1 s left</source>
        <translation>noch etwa %1 s</translation>
    </message>
    <message>
        <source>about %1 min left</source>
        <translation>noch etwa %1 min</translation>
    </message>
    <message>
        <source>Fetching the graph</source>
        <translation>Der Graph wird geholt</translation>
    </message>
    <message>
        <source>%1 s</source>
        <translation>%1 s</translation>
    </message>
    <message>
        <source>%1 min %2 s</source>
        <translation>%1 min %2 s</translation>
    </message>
    <message>
        <source>Capturing the model</source>
        <translation>Das Modell wird aufgenommen</translation>
    </message>
</context>
<context>
    <name>ChosenFiles</name>
    <message>
        <source>%1: in this folder is no graph, schedule, sweep or plan</source>
        <translation>%1: in diesem Ordner ist kein Graph, Ablauf oder Plan und keine Reihe</translation>
    </message>
    <message>
        <source>%1: one model is captured at a time</source>
        <translation>%1: es wird ein Modell zur Zeit aufgenommen</translation>
    </message>
    <message>
        <source>%1: one graph is open at a time, and %2 is opened</source>
        <translation>%1: es ist ein Graph zur Zeit offen, und %2 wird geöffnet</translation>
    </message>
</context>
<context>
    <name>CommandPalette</name>
    <message>
        <source>Commands</source>
        <translation>Befehle</translation>
    </message>
    <message>
        <source>Type what to do, a block or a plan</source>
        <translation>Einen Befehl, Block oder Plan eingeben</translation>
    </message>
    <message>
        <source>Search commands, blocks and plans</source>
        <translation>Befehle, Blöcke und Pläne suchen</translation>
    </message>
    <message>
        <source>What was found</source>
        <translation>Was gefunden wurde</translation>
    </message>
</context>
<context>
    <name>CompareController</name>
    <message>
        <source>takes as long</source>
        <translation>dauert gleich lang</translation>
    </message>
    <message>
        <source>takes %1 more</source>
        <translation>dauert %1 länger</translation>
    </message>
    <message>
        <source>takes %1 less</source>
        <translation>dauert %1 kürzer</translation>
    </message>
    <message>
        <source>needs as much memory</source>
        <translation>braucht gleich viel Speicher</translation>
    </message>
    <message>
        <source>needs %1 more at the peak</source>
        <translation>braucht an der Spitze %1 mehr</translation>
    </message>
    <message>
        <source>needs %1 less at the peak</source>
        <translation>braucht an der Spitze %1 weniger</translation>
    </message>
    <message>
        <source>; runs %1 updates on the host instead of on the device, where they take %2</source>
        <translation>; führt %1 Aktualisierungen auf dem Host aus statt auf dem Gerät, wo sie %2 dauern</translation>
    </message>
    <message>
        <source>; runs %1 updates on the device instead of on the host, %2</source>
        <translation>; führt %1 Aktualisierungen auf dem Gerät aus statt auf dem Host, %2</translation>
    </message>
    <message>
        <source>; copies %1 to the host and %2 back (%3: %4 and %5)</source>
        <translation>; kopiert %1 zum Host und %2 zurück (%3: %4 und %5)</translation>
    </message>
    <message>
        <source>; at most %1 lie on the host (%2: %3)</source>
        <translation>; höchstens %1 liegen auf dem Host (%2: %3)</translation>
    </message>
    <message>
        <source>; over other links</source>
        <translation>; über andere Verbindungen</translation>
    </message>
    <message>
        <source>%1 %2 and %3</source>
        <translation>%1 %2 und %3</translation>
    </message>
    <message>
        <source>; runs ops %1 times more, %2</source>
        <translation>; %1 Ausführungen von Ops mehr, %2</translation>
    </message>
    <message>
        <source>; runs ops %1 times less, %2</source>
        <translation>; %1 Ausführungen von Ops weniger, %2</translation>
    </message>
</context>
<context>
    <name>ComparePicture</name>
    <message>
        <source>%1: %2 time, peak %3</source>
        <translation>%1: %2 Zeit, Spitze %3</translation>
    </message>
    <message>
        <source>Two plans over time</source>
        <translation>Zwei Pläne über der Zeit</translation>
    </message>
    <message>
        <source>Compare</source>
        <translation>Vergleich</translation>
    </message>
    <message>
        <source>Go to the next run</source>
        <translation>Zum nächsten Lauf</translation>
    </message>
    <message>
        <source>Go to the run before</source>
        <translation>Zum Lauf davor</translation>
    </message>
    <message>
        <source>Select the op that runs there</source>
        <translation>Die Op auswählen, die dort läuft</translation>
    </message>
    <message>
        <source>Choose a plan to compare with the one that is shown.</source>
        <translation>Wählen Sie einen Plan, der mit dem gezeigten verglichen wird.</translation>
    </message>
    <message>
        <source>Show a plan to compare it with another one.</source>
        <translation>Zeigen Sie einen Plan, um ihn mit einem anderen zu vergleichen.</translation>
    </message>
</context>
<context>
    <name>CompareView</name>
    <message>
        <source>What the two plans do differently</source>
        <translation>Was die beiden Pläne anders machen</translation>
    </message>
    <message>
        <source>Plan to compare with</source>
        <translation>Plan zum Vergleich</translation>
    </message>
    <message>
        <source>The shown plan &amp;with</source>
        <translation>Der gezeigte Plan &amp;mit</translation>
    </message>
</context>
<context>
    <name>CopiesBox</name>
    <message>
        <source>%1 GB/s</source>
        <translation>%1 GB/s</translation>
    </message>
    <message>
        <source>%1 each way</source>
        <translation>%1 in jeder Richtung</translation>
    </message>
    <message>
        <source>%1 to the host, %2 back</source>
        <translation>%1 zum Host, %2 zurück</translation>
    </message>
    <message>
        <source>; less while both move</source>
        <translation>; weniger, während sich beide bewegen</translation>
    </message>
    <message>
        <source>Copies to the host</source>
        <translation>Kopien zum Host</translation>
    </message>
    <message>
        <source>none</source>
        <translation>keine</translation>
    </message>
    <message>
        <source>activations</source>
        <translation>Aktivierungen</translation>
    </message>
    <message>
        <source>weights</source>
        <translation>Gewichte</translation>
    </message>
    <message>
        <source>all</source>
        <translation>alles</translation>
    </message>
    <message>
        <source>What may leave the device for the host&apos;s memory and come back, beside recomputation.
Weights are parameters, gradients and what the optimizer keeps</source>
        <translation>Was das Gerät in den Speicher des Hosts verlassen und zurückkommen darf, neben der Neuberechnung.
Gewichte sind Parameter, Gradienten und was der Optimierer behält</translation>
    </message>
    <message>
        <source>Link</source>
        <translation>Verbindung</translation>
    </message>
    <message>
        <source>Between device and host: that of the graph&apos;s device, or of another one</source>
        <translation>Zwischen Gerät und Host: die des Geräts des Graphen oder eines anderen</translation>
    </message>
    <message>
        <source>as captured</source>
        <translation>wie erfasst</translation>
    </message>
    <message>
        <source>as in the plan</source>
        <translation>wie im Plan</translation>
    </message>
    <message>
        <source>; at most %1 on the host</source>
        <translation>; höchstens %1 auf dem Host</translation>
    </message>
</context>
<context>
    <name>CsvTable</name>
    <message>
        <source>Level</source>
        <translation>Ebene</translation>
    </message>
</context>
<context>
    <name>Decision</name>
    <message>
        <source>recomputed</source>
        <translation>neu berechnet</translation>
    </message>
    <message>
        <source>offloaded</source>
        <translation>ausgelagert</translation>
    </message>
    <message>
        <source>kept</source>
        <translation>behalten</translation>
    </message>
</context>
<context>
    <name>DetailsPanel</name>
    <message>
        <source>and %1 more</source>
        <translation>und %1 weitere</translation>
    </message>
    <message>
        <source>op %1</source>
        <translation>Op %1</translation>
    </message>
    <message>
        <source>op %1 in %2</source>
        <translation>Op %1 in %2</translation>
    </message>
    <message>
        <source>Cost</source>
        <translation>Kosten</translation>
    </message>
    <message>
        <source>Phase</source>
        <translation>Phase</translation>
    </message>
    <message>
        <source>Time of one run</source>
        <translation>Zeit eines Laufs</translation>
    </message>
    <message>
        <source>Made</source>
        <translation>Erzeugt</translation>
    </message>
    <message>
        <source>Workspace</source>
        <translation>Arbeitsspeicher der Op</translation>
    </message>
    <message>
        <source>Block</source>
        <translation>Block</translation>
    </message>
    <message>
        <source>Gradient of</source>
        <translation>Gradient von</translation>
    </message>
    <message>
        <source>Random</source>
        <translation>Zufall</translation>
    </message>
    <message>
        <source>draws from a generator</source>
        <translation>zieht aus einem Generator</translation>
    </message>
    <message>
        <source>Recomputable</source>
        <translation>Wiederholbar</translation>
    </message>
    <message>
        <source>no, runs exactly once</source>
        <translation>nein, läuft genau einmal</translation>
    </message>
    <message>
        <source>Schedule</source>
        <translation>Ablauf</translation>
    </message>
    <message>
        <source>Decision</source>
        <translation>Entscheidung</translation>
    </message>
    <message>
        <source>Runs</source>
        <translation>Läufe</translation>
    </message>
    <message>
        <source>Makes</source>
        <translation>Erzeugt</translation>
    </message>
    <message>
        <source>Reads</source>
        <translation>Liest</translation>
    </message>
    <message>
        <source>One run of each op</source>
        <translation>Jede Op einmal</translation>
    </message>
    <message>
        <source>Ops</source>
        <translation>Ops</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>Zeit</translation>
    </message>
    <message>
        <source>Equal blocks</source>
        <translation>Gleiche Blöcke</translation>
    </message>
    <message>
        <source>Backward twin</source>
        <translation>Gegenstück rückwärts</translation>
    </message>
    <message>
        <source>Forward twin</source>
        <translation>Gegenstück vorwärts</translation>
    </message>
    <message>
        <source>Within</source>
        <translation>Innerhalb von</translation>
    </message>
    <message>
        <source>Time spent again</source>
        <translation>Zeit für Wiederholung</translation>
    </message>
    <message>
        <source>Heaviest tensors made here</source>
        <translation>Größte Tensoren von hier</translation>
    </message>
    <message>
        <source>Captured from</source>
        <translation>Aufgenommen aus</translation>
    </message>
    <message>
        <source>one training step</source>
        <translation>ein Trainingsschritt</translation>
    </message>
    <message>
        <source>Step without recomputation</source>
        <translation>Schritt ohne Neuberechnung</translation>
    </message>
    <message>
        <source>Tensors</source>
        <translation>Tensoren</translation>
    </message>
    <message>
        <source>Peak</source>
        <translation>Spitze</translation>
    </message>
    <message>
        <source>Always resident</source>
        <translation>Dauernd belegt</translation>
    </message>
    <message>
        <source>No schedule below</source>
        <translation>Kein Ablauf unter</translation>
    </message>
    <message>
        <source>Schedule shown</source>
        <translation>Gezeigter Ablauf</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>Schritte</translation>
    </message>
    <message>
        <source>Peak reached in</source>
        <translation>Spitze erreicht in</translation>
    </message>
    <message>
        <source>Bytes by kind</source>
        <translation>Bytes nach Art</translation>
    </message>
    <message>
        <source>Facts about the graph, and about the block or op you select, appear here.</source>
        <translation>Hier stehen Angaben zum Graphen und zum gewählten Block oder zur gewählten Op.</translation>
    </message>
    <message>
        <source>Backward of the line</source>
        <translation>Rückwärtsschritt der Zeile</translation>
    </message>
    <message>
        <source>Line</source>
        <translation>Zeile</translation>
    </message>
</context>
<context>
    <name>DeviceChoice</name>
    <message>
        <source>from shapes alone, as on %1</source>
        <translation>nur aus Formen, wie auf %1</translation>
    </message>
    <message>
        <source>CUDA</source>
        <translation>CUDA</translation>
    </message>
    <message>
        <source>%1: %2 (%3 of them)</source>
        <translation>%1: %2 (%3 davon)</translation>
    </message>
</context>
<context>
    <name>DifferencesTable</name>
    <message>
        <source>Op</source>
        <translation>Op</translation>
    </message>
    <message>
        <source>What runs differently, or lies in memory at one peak and not at the other</source>
        <translation>Was anders läuft oder an einer Spitze im Speicher liegt und an der anderen nicht</translation>
    </message>
    <message>
        <source>Module</source>
        <translation>Modul</translation>
    </message>
    <message>
        <source>The part of the model that it belongs to</source>
        <translation>Der Teil des Modells, zu dem sie gehört</translation>
    </message>
    <message>
        <source>Runs, %1</source>
        <translation>Läufe, %1</translation>
    </message>
    <message>
        <source>How often plan %1 runs it</source>
        <translation>Wie oft Plan %1 sie ausführt</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>Zeit</translation>
    </message>
    <message>
        <source>At the peak of %1</source>
        <translation>An der Spitze von %1</translation>
    </message>
    <message>
        <source>What it made that lies in memory when %1 needs the most</source>
        <translation>Was sie erzeugt hat und im Speicher liegt, wenn %1 am meisten braucht</translation>
    </message>
    <message>
        <source>on the host</source>
        <translation>auf dem Host</translation>
    </message>
    <message>
        <source>That its runs on the device take in %1, less those in %2</source>
        <translation>Was seine Läufe auf dem Gerät in %1 dauern, weniger die in %2</translation>
    </message>
</context>
<context>
    <name>Docks</name>
    <message>
        <source>&amp;Solve</source>
        <translation>&amp;Lösen</translation>
    </message>
    <message>
        <source>Edit the &amp;budget</source>
        <translation>&amp;Budget bearbeiten</translation>
    </message>
    <message>
        <source>S&amp;weep budgets</source>
        <translation>Budgets durch&amp;gehen</translation>
    </message>
    <message>
        <source>&amp;Go to the peak</source>
        <translation>&amp;Zur Spitze</translation>
    </message>
    <message>
        <source>Solve</source>
        <translation>Lösen</translation>
    </message>
    <message>
        <source>Budget, solver and answer</source>
        <translation>Budget, Löser und Antwort</translation>
    </message>
    <message>
        <source>Trade-off</source>
        <translation>Abwägung</translation>
    </message>
    <message>
        <source>Time against memory over many budgets</source>
        <translation>Zeit gegen Speicher über viele Budgets</translation>
    </message>
    <message>
        <source>Plans</source>
        <translation>Pläne</translation>
    </message>
    <message>
        <source>Every schedule that was found or opened</source>
        <translation>Jeder Ablauf, der gefunden oder geöffnet wurde</translation>
    </message>
    <message>
        <source>Blocks</source>
        <translation>Blöcke</translation>
    </message>
    <message>
        <source>The hierarchy of the step</source>
        <translation>Der Aufbau des Schritts</translation>
    </message>
    <message>
        <source>Details</source>
        <translation>Details</translation>
    </message>
    <message>
        <source>Facts about the selection</source>
        <translation>Angaben zur Auswahl</translation>
    </message>
    <message>
        <source>Schedule</source>
        <translation>Ablauf</translation>
    </message>
    <message>
        <source>What runs when, and the memory held</source>
        <translation>Was wann läuft und wie viel Speicher belegt ist</translation>
    </message>
    <message>
        <source>In memory</source>
        <translation>Speicher</translation>
    </message>
    <message>
        <source>What is held at the cursor, and why</source>
        <translation>Was am Zeiger belegt ist und warum</translation>
    </message>
    <message>
        <source>Compare</source>
        <translation>Vergleich</translation>
    </message>
    <message>
        <source>Two plans side by side, and what they do differently</source>
        <translation>Zwei Pläne nebeneinander und was sie anders machen</translation>
    </message>
    <message>
        <source>Pin: &amp;keep</source>
        <translation>Festlegen: &amp;behalten</translation>
    </message>
    <message>
        <source>Pin: recom&amp;pute</source>
        <translation>Festlegen: ne&amp;u berechnen</translation>
    </message>
    <message>
        <source>N&amp;o pin</source>
        <translation>&amp;Nicht festlegen</translation>
    </message>
    <message>
        <source>Why</source>
        <translation>Warum</translation>
    </message>
    <message>
        <source>What a decision costs, what the other one would, and pins</source>
        <translation>Was eine Entscheidung kostet, was die andere kosten würde, und Festlegungen</translation>
    </message>
    <message>
        <source>Flame chart</source>
        <translation>Flammenbild</translation>
    </message>
    <message>
        <source>The ops of the step over time, by module</source>
        <translation>Die Operationen des Schritts über der Zeit, nach Modulen</translation>
    </message>
    <message>
        <source>Lifetimes</source>
        <translation>Lebensdauer</translation>
    </message>
    <message>
        <source>What is held at the cursor, from its making to its end</source>
        <translation>Was am Zeiger belegt ist, von seiner Erzeugung bis zu seinem Ende</translation>
    </message>
</context>
<context>
    <name>FileCaptureDialog</name>
    <message>
        <source>One training step of the model is run once with random inputs of these shapes, in a process of its own.</source>
        <translation>Ein Trainingsschritt des Modells läuft einmal mit zufälligen Eingaben dieser Formen, in einem eigenen Prozess.</translation>
    </message>
    <message>
        <source>those that it was exported with</source>
        <translation>die, mit denen es exportiert wurde</translation>
    </message>
    <message>
        <source>Inputs</source>
        <translation>Eingaben</translation>
    </message>
    <message>
        <source>One a line: dtype[shape]; &lt;4096 bounds integers; int:3, bool:true or none for what is no tensor</source>
        <translation>Je Zeile eine: dtype[Form]; &lt;4096 begrenzt ganze Zahlen; int:3, bool:true oder none für das, was kein Tensor ist</translation>
    </message>
    <message>
        <source>Loss</source>
        <translation>Verlust</translation>
    </message>
    <message>
        <source>Optimizer</source>
        <translation>Optimierer</translation>
    </message>
    <message>
        <source>Device</source>
        <translation>Gerät</translation>
    </message>
    <message>
        <source>outside the model: gradients of the outputs come in</source>
        <translation>außerhalb des Modells: Gradienten der Ausgaben kommen herein</translation>
    </message>
    <message>
        <source>sum of the outputs</source>
        <translation>Summe der Ausgaben</translation>
    </message>
    <message>
        <source>mean of the outputs</source>
        <translation>Mittel der Ausgaben</translation>
    </message>
    <message>
        <source>cross entropy</source>
        <translation>Kreuzentropie</translation>
    </message>
    <message>
        <source>none: its states and updates are not counted</source>
        <translation>keiner: seine Zustände und Aktualisierungen zählen nicht</translation>
    </message>
    <message>
        <source>CPU</source>
        <translation>CPU</translation>
    </message>
    <message>
        <source>Give the shape of at least one input, for example f32[8,3,224,224].</source>
        <translation>Die Form mindestens einer Eingabe angeben, zum Beispiel f32[8,3,224,224].</translation>
    </message>
    <message>
        <source>One training step of the model is run once on %1 with random inputs of these shapes.</source>
        <translation>Ein Trainingsschritt des Modells wird auf %1 einmal mit zufälligen Eingaben dieser Formen ausgeführt.</translation>
    </message>
</context>
<context>
    <name>FitWords</name>
    <message>
        <source>This is with weights on the device: they may live on the host (Solve, Copies to the host). Or a smaller batch, or a card with %1 more.</source>
        <translation>Das gilt mit den Gewichten auf dem Gerät: sie dürfen auf dem Host liegen (Lösen, Kopien zum Host). Oder ein kleinerer Batch, oder eine Karte mit %1 mehr.</translation>
    </message>
    <message>
        <source>It was made for %1. Solve for what %2 allow.</source>
        <translation>Er ist für %1 gemacht. Lösen zeigt, was mit %2 möglich ist.</translation>
    </message>
    <message>
        <source>Fits: %1 of %2</source>
        <translation>Passt: %1 von %2</translation>
    </message>
    <message>
        <source>Nothing needs to run again.</source>
        <translation>Nichts muss erneut laufen.</translation>
    </message>
    <message>
        <source>Cannot fit: every schedule needs at least %1, there are %2</source>
        <translation>Kann nicht passen: Jeder Ablauf braucht mindestens %1, da sind %2</translation>
    </message>
    <message>
        <source>A smaller batch, or a card with %1 more.</source>
        <translation>Ein kleinerer Batch oder eine Karte mit %1 mehr.</translation>
    </message>
    <message>
        <source>Needs %1, fits %2 with plan %3: %4 time</source>
        <translation>Braucht %1, passt in %2 mit Plan %3: %4 Zeit</translation>
    </message>
    <message>
        <source>No schedule within its budget is faster.</source>
        <translation>In seinem Budget ist kein Ablauf schneller.</translation>
    </message>
    <message>
        <source>No schedule that keeps its pins and its budget is faster.</source>
        <translation>Kein Ablauf, der seine Festlegungen und sein Budget einhält, ist schneller.</translation>
    </message>
    <message>
        <source>Under its pins and within its budget no schedule takes less than %1.</source>
        <translation>Mit seinen Festlegungen und in seinem Budget braucht kein Ablauf weniger als %1.</translation>
    </message>
    <message>
        <source>Within its budget no schedule takes less than %1.</source>
        <translation>In seinem Budget braucht kein Ablauf weniger als %1.</translation>
    </message>
    <message>
        <source>Needs %1, there are %2</source>
        <translation>Braucht %1, da sind %2</translation>
    </message>
    <message>
        <source>It can be done: schedules go down to %1. Solve for what it costs.</source>
        <translation>Es geht: Es gibt Abläufe bis hinab zu %1. Lösen zeigt, was es kostet.</translation>
    </message>
    <message>
        <source>Not known: schedules need at least %1, and none that small was found yet. Solve to look for one.</source>
        <translation>Nicht bekannt: Abläufe brauchen mindestens %1, und so klein wurde noch keiner gefunden. Lösen sucht einen.</translation>
    </message>
    <message>
        <source>Needs %1, fits %2 with plan %3: %4 less time than with all on the device</source>
        <translation>Braucht %1, passt mit Plan %3 in %2: %4 weniger Zeit als mit allem auf dem Gerät</translation>
    </message>
    <message>
        <source>Under its pins and within its budget no schedule saves more than %1 of the time that the step takes with all on the device.</source>
        <translation>Mit seinen Festlegungen und in seinem Budget spart kein Ablauf mehr als %1 der Zeit, die der Schritt mit allem auf dem Gerät braucht.</translation>
    </message>
    <message>
        <source>Within its budget no schedule saves more than %1 of the time that the step takes with all on the device.</source>
        <translation>In seinem Budget spart kein Ablauf mehr als %1 der Zeit, die der Schritt mit allem auf dem Gerät braucht.</translation>
    </message>
    <message>
        <source>That is with weights on the device.</source>
        <translation>Das gilt mit Gewichten auf dem Gerät.</translation>
    </message>
    <message>
        <source>That is without copies to the host.</source>
        <translation>Das gilt ohne Kopien zum Host.</translation>
    </message>
    <message>
        <source>It was made under pins. Solve without them.</source>
        <translation>Er entstand mit Festlegungen. Ohne sie lösen.</translation>
    </message>
    <message>
        <source>It was made under other pins. Solve under these.</source>
        <translation>Er entstand mit anderen Festlegungen. Mit diesen lösen.</translation>
    </message>
    <message>
        <source>It was made with fewer copies to the host. Solve with those that are allowed now.</source>
        <translation>Er entstand mit weniger Kopien zum Host. Mit den jetzt erlaubten lösen.</translation>
    </message>
    <message>
        <source>Schedules go down to %1, but this solver found none for the budget in its time. Give it more time, or choose another solver.</source>
        <translation>Abläufe gehen hinab bis %1, aber dieser Löser hat in seiner Zeit keinen für das Budget gefunden. Ihm mehr Zeit geben oder einen anderen Löser wählen.</translation>
    </message>
    <message>
        <source>Not known: schedules need at least %1, and this solver found none for the budget in its time. Give it more time, or choose another solver.</source>
        <translation>Nicht bekannt: Abläufe brauchen mindestens %1, und dieser Löser hat in seiner Zeit keinen für das Budget gefunden. Ihm mehr Zeit geben oder einen anderen Löser wählen.</translation>
    </message>
    <message>
        <source>with the optimizer %1</source>
        <translation>mit dem Optimierer %1</translation>
    </message>
    <message>
        <source>with the optimizer</source>
        <translation>mit dem Optimierer</translation>
    </message>
    <message>
        <source>without an optimizer, whose states come on top</source>
        <translation>ohne Optimierer, dessen Zustände hinzukommen</translation>
    </message>
    <message>
        <source>from shapes: workspaces of kernels are not counted</source>
        <translation>aus Formen: Arbeitsspeicher der Kernel zählt nicht</translation>
    </message>
    <message>
        <source>from shapes</source>
        <translation>aus Formen</translation>
    </message>
    <message>
        <source>times estimated for %1</source>
        <translation>Zeiten geschätzt für %1</translation>
    </message>
    <message>
        <source>times measured on %1</source>
        <translation>Zeiten gemessen auf %1</translation>
    </message>
    <message>
        <source>times of %1</source>
        <translation>Zeiten von %1</translation>
    </message>
    <message>
        <source>copies over %1, which is assumed</source>
        <translation>Kopien über %1, was angenommen ist</translation>
    </message>
    <message>
        <source>copies over %1</source>
        <translation>Kopien über %1</translation>
    </message>
</context>
<context>
    <name>FlameTable</name>
    <message>
        <source>Name</source>
        <translation>Name</translation>
    </message>
    <message>
        <source>The phase, the module or the op</source>
        <translation>Die Phase, das Modul oder die Operation</translation>
    </message>
    <message>
        <source>Module</source>
        <translation>Modul</translation>
    </message>
    <message>
        <source>Path of the module</source>
        <translation>Pfad des Moduls</translation>
    </message>
    <message>
        <source>Level</source>
        <translation>Ebene</translation>
    </message>
    <message>
        <source>Boxes that it lies in</source>
        <translation>Kästen, in denen er liegt</translation>
    </message>
    <message>
        <source>Runs</source>
        <translation>Läufe</translation>
    </message>
    <message>
        <source>Of its ops, one after the other</source>
        <translation>Seiner Operationen, einer nach dem anderen</translation>
    </message>
    <message>
        <source>Again</source>
        <translation>Erneut</translation>
    </message>
    <message>
        <source>Of these, runs that are not the first of their op</source>
        <translation>Davon Läufe, die nicht die ersten ihrer Operation sind</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>Beginn</translation>
    </message>
    <message>
        <source>Since the training step began</source>
        <translation>Seit Beginn des Trainingsschritts</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>Zeit</translation>
    </message>
    <message>
        <source>Of its runs together</source>
        <translation>Seiner Läufe zusammen</translation>
    </message>
    <message>
        <source>Share</source>
        <translation>Anteil</translation>
    </message>
    <message>
        <source>Of the time of the step</source>
        <translation>An der Zeit des Schritts</translation>
    </message>
    <message>
        <source>Made</source>
        <translation>Erzeugt</translation>
    </message>
    <message>
        <source>Bytes of all outputs of its runs</source>
        <translation>Bytes aller Ausgaben seiner Läufe</translation>
    </message>
    <message>
        <source>Held</source>
        <translation>Belegt</translation>
    </message>
    <message>
        <source>The most that is in memory at a time while it runs</source>
        <translation>Das Meiste, was auf einmal im Speicher liegt, während er läuft</translation>
    </message>
    <message>
        <source>Line</source>
        <translation>Zeile</translation>
    </message>
    <message>
        <source>Of the model, where the op is called</source>
        <translation>Des Modells, die die Operation aufruft</translation>
    </message>
</context>
<context>
    <name>FlameView</name>
    <message>
        <source>Flame chart</source>
        <translation>Flammenbild</translation>
    </message>
    <message>
        <source>Zoom in</source>
        <translation>Vergrößern</translation>
    </message>
    <message>
        <source>Zoom out</source>
        <translation>Verkleinern</translation>
    </message>
    <message>
        <source>Move to what is before</source>
        <translation>Zum Früheren verschieben</translation>
    </message>
    <message>
        <source>Move to what comes after</source>
        <translation>Zum Späteren verschieben</translation>
    </message>
    <message>
        <source>Go to the next box of the row</source>
        <translation>Zum nächsten Kasten der Ebene gehen</translation>
    </message>
    <message>
        <source>Go to the box before</source>
        <translation>Zum Kasten davor gehen</translation>
    </message>
    <message>
        <source>Go to the box above</source>
        <translation>Zum Kasten darüber gehen</translation>
    </message>
    <message>
        <source>Go to the first box inside</source>
        <translation>Zum ersten Kasten darin gehen</translation>
    </message>
    <message>
        <source>Select the op or the block</source>
        <translation>Die Operation oder den Block wählen</translation>
    </message>
    <message>
        <source>Zoom to the box</source>
        <translation>Den Kasten vergrößern</translation>
    </message>
    <message>
        <source>Sum up the boxes up to the next one</source>
        <translation>Die Kästen bis zum nächsten zusammenzählen</translation>
    </message>
    <message>
        <source>Sum up the boxes up to the one before</source>
        <translation>Die Kästen bis zum vorigen zusammenzählen</translation>
    </message>
    <message>
        <source>Show all</source>
        <translation>Alles zeigen</translation>
    </message>
    <message>
        <source>Show all and sum up nothing; then select nothing</source>
        <translation>Alles zeigen und nichts zusammenzählen, dann nichts wählen</translation>
    </message>
    <message>
        <source>Click</source>
        <translation>Klick</translation>
    </message>
    <message>
        <source>Wheel</source>
        <translation>Rad</translation>
    </message>
    <message>
        <source>Zoom</source>
        <translation>Vergrößern und verkleinern</translation>
    </message>
    <message>
        <source>Drag</source>
        <translation>Ziehen</translation>
    </message>
    <message>
        <source>Move the picture</source>
        <translation>Das Bild verschieben</translation>
    </message>
    <message>
        <source>Drag on the ruler, or with Shift</source>
        <translation>Auf dem Lineal oder mit Umschalt ziehen</translation>
    </message>
    <message>
        <source>Sum up what lies there</source>
        <translation>Zusammenzählen, was dort liegt</translation>
    </message>
    <message>
        <source>Double click</source>
        <translation>Doppelklick</translation>
    </message>
    <message>
        <source>Zoom to the box; beside the boxes show all</source>
        <translation>Den Kasten vergrößern, neben den Kästen alles zeigen</translation>
    </message>
    <message>
        <source>This schedule cannot be played.</source>
        <translation>Dieser Ablauf lässt sich nicht nachspielen.</translation>
    </message>
    <message>
        <source>Open a graph to see its ops over time, by module.</source>
        <translation>Öffnen Sie einen Graphen, um seine Operationen über der Zeit zu sehen, nach Modulen.</translation>
    </message>
    <message>
        <source>Chosen: %1</source>
        <translation>Gewählt: %1</translation>
    </message>
    <message>
        <source>The step: %1. Drag on the ruler to sum up a part.</source>
        <translation>Der Schritt: %1. Auf dem Lineal ziehen, um einen Teil zusammenzuzählen.</translation>
    </message>
    <message>
        <source>; on the host %1 runs of %2</source>
        <translation>; auf dem Host %1 Läufe von %2</translation>
    </message>
</context>
<context>
    <name>FlameWords</name>
    <message>
        <source>%1, made again</source>
        <translation>%1, neu erzeugt</translation>
    </message>
    <message>
        <source>line %1</source>
        <translation>Zeile %1</translation>
    </message>
    <message>
        <source>%1, %2 of the step</source>
        <translation>%1, %2 des Schritts</translation>
    </message>
    <message>
        <source>%1 made, %2 held while it runs</source>
        <translation>%1 erzeugt, %2 belegt, solange sie läuft</translation>
    </message>
    <message>
        <source>%1 (%2 of the step), %3 runs</source>
        <translation>%1 (%2 des Schritts), %3 Läufe</translation>
    </message>
    <message>
        <source>, %1 of them again (%2)</source>
        <translation>, davon %1 erneut (%2)</translation>
    </message>
    <message>
        <source>, waits of %1 between them</source>
        <translation>, dazwischen %1 Wartezeit</translation>
    </message>
    <message>
        <source>; %1 made, at most %2 held</source>
        <translation>; %1 erzeugt, höchstens %2 belegt</translation>
    </message>
    <message>
        <source>%1, on the host</source>
        <translation>%1, auf dem Host</translation>
    </message>
</context>
<context>
    <name>FollowedRun</name>
    <message>
        <source>%1: cannot be read</source>
        <translation>%1: nicht lesbar</translation>
    </message>
</context>
<context>
    <name>FollowedView</name>
    <message>
        <source>Steps of the training run</source>
        <translation>Schritte des Trainingslaufs</translation>
    </message>
    <message>
        <source>Steps of a training run</source>
        <translation>Schritte eines Trainingslaufs</translation>
    </message>
    <message>
        <source>Go to the next step</source>
        <translation>Zum nächsten Schritt</translation>
    </message>
    <message>
        <source>Go to the step before</source>
        <translation>Zum Schritt davor</translation>
    </message>
    <message>
        <source>No step is over yet.</source>
        <translation>Noch kein Schritt ist zu Ende.</translation>
    </message>
</context>
<context>
    <name>FollowedWindow</name>
    <message>
        <source>Last step (%1): a peak of %2 in %3.</source>
        <translation>Letzter Schritt (%1): eine Spitze von %2 in %3.</translation>
    </message>
    <message>
        <source>Its plan foretold %1.</source>
        <translation>Sein Plan sagte %1 voraus.</translation>
    </message>
    <message>
        <source>Steps above the budget: %1.</source>
        <translation>Schritte über dem Budget: %1.</translation>
    </message>
    <message>
        <source>No step was above the budget.</source>
        <translation>Kein Schritt lag über dem Budget.</translation>
    </message>
    <message>
        <source>Steps above what their plan foretold: %1.</source>
        <translation>Schritte über dem, was ihr Plan voraussagte: %1.</translation>
    </message>
    <message>
        <source>%1 (steps: %2)</source>
        <translation>%1 (Schritte: %2)</translation>
    </message>
    <message>
        <source>and more reasons: %1</source>
        <translation>und weitere Gründe: %1</translation>
    </message>
    <message>
        <source>Why the original ran: %1</source>
        <translation>Warum das Original lief: %1</translation>
    </message>
    <message>
        <source>%1: training run</source>
        <translation>%1: Trainingslauf</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>Schritte</translation>
    </message>
    <message>
        <source>%1: %2 steps</source>
        <translation>%1: %2 Schritte</translation>
    </message>
    <message>
        <source>%1, a budget of %2</source>
        <translation>%1, ein Budget von %2</translation>
    </message>
    <message>
        <source>No step is over yet.</source>
        <translation>Noch kein Schritt ist zu Ende.</translation>
    </message>
    <message>
        <source>%1: 1 step</source>
        <translation>%1: 1 Schritt</translation>
    </message>
    <message>
        <source>Skipped lines: %1, the last of them %2</source>
        <translation>Übersprungene Zeilen: %1, die letzte davon %2</translation>
    </message>
</context>
<context>
    <name>FunctionCaptureDialog</name>
    <message>
        <source>The function is called, and one training step of the model that it returns is recorded, in a process of its own.</source>
        <translation>Die Funktion wird aufgerufen, und ein Trainingsschritt des Modells, das sie zurückgibt, wird aufgezeichnet, in einem eigenen Prozess.</translation>
    </message>
    <message>
        <source>the arguments keep their values, which the program may read</source>
        <translation>die Argumente behalten ihre Werte, die das Programm lesen darf</translation>
    </message>
    <message>
        <source>none: its states and updates are not counted</source>
        <translation>keiner: seine Zustände und Aktualisierungen zählen nicht</translation>
    </message>
    <message>
        <source>where the function puts its model</source>
        <translation>wo die Funktion ihr Modell anlegt</translation>
    </message>
    <message>
        <source>CPU</source>
        <translation>CPU</translation>
    </message>
    <message>
        <source>as the program says</source>
        <translation>wie das Programm es sagt</translation>
    </message>
    <message>
        <source>autocast to bf16</source>
        <translation>Autocast nach bf16</translation>
    </message>
    <message>
        <source>autocast to f16</source>
        <translation>Autocast nach f16</translation>
    </message>
    <message>
        <source>parameters of 16 bits, updated as weights in f32</source>
        <translation>Parameter mit 16 Bit, als Gewichte in f32 aktualisiert</translation>
    </message>
    <message>
        <source>Choose</source>
        <translation>Wählen</translation>
    </message>
    <message>
        <source>Function</source>
        <translation>Funktion</translation>
    </message>
    <message>
        <source>Keywords</source>
        <translation>Schlüsselwörter</translation>
    </message>
    <message>
        <source>Optimizer</source>
        <translation>Optimierer</translation>
    </message>
    <message>
        <source>Device</source>
        <translation>Gerät</translation>
    </message>
    <message>
        <source>Precision</source>
        <translation>Genauigkeit</translation>
    </message>
    <message>
        <source>Values</source>
        <translation>Werte</translation>
    </message>
    <message>
        <source>Python</source>
        <translation>Python</translation>
    </message>
    <message>
        <source>Folder of a Python environment</source>
        <translation>Ordner einer Python-Umgebung</translation>
    </message>
    <message>
        <source>Asking Python</source>
        <translation>Python wird gefragt</translation>
    </message>
    <message>
        <source>%1, Python %2 with torch %3</source>
        <translation>%1, Python %2 mit torch %3</translation>
    </message>
    <message>
        <source>%1 is no function of this file that can be called without arguments. Choose another one.</source>
        <translation>%1 ist keine Funktion dieser Datei, die ohne Argumente aufgerufen werden kann. Eine andere wählen.</translation>
    </message>
    <message>
        <source>No function of this file can be called without arguments. Write one that returns the model and its arguments:</source>
        <translation>Keine Funktion dieser Datei kann ohne Argumente aufgerufen werden. Eine schreiben, die das Modell und seine Argumente zurückgibt:</translation>
    </message>
    <message>
        <source>&apos;%1&apos; is no keyword of a function; expected for example batch=8</source>
        <translation>&apos;%1&apos; ist kein Schlüsselwort einer Funktion; erwartet wird zum Beispiel batch=8</translation>
    </message>
    <message>
        <source>Weights in f32 are the optimizer&apos;s: choose one.</source>
        <translation>Gewichte in f32 gehören dem Optimierer: einen wählen.</translation>
    </message>
    <message>
        <source>%1 could not capture the function: %2</source>
        <translation>%1 konnte die Funktion nicht aufnehmen: %2</translation>
    </message>
    <message>
        <source>The function is called on %1, and one training step of the model that it returns is recorded there.</source>
        <translation>Die Funktion wird auf %1 aufgerufen, und ein Trainingsschritt des Modells, das sie zurückgibt, wird dort aufgenommen.</translation>
    </message>
    <message>
        <source>the one there that has rematlas</source>
        <translation>das dortige, das rematlas hat</translation>
    </message>
    <message>
        <source>Asking Python on %1</source>
        <translation>Python auf %1 wird gefragt</translation>
    </message>
</context>
<context>
    <name>GraphMinimap</name>
    <message>
        <source>The whole graph; click to go there</source>
        <translation>Der ganze Graph; ein Klick geht dorthin</translation>
    </message>
</context>
<context>
    <name>GraphPage</name>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Laying out the graph</source>
        <translation>Der Graph wird angeordnet</translation>
    </message>
    <message>
        <source>The graph could not be laid out: %1

Tree, solving and schedules work without it.</source>
        <translation>Der Graph konnte nicht angeordnet werden: %1

Baum, Lösen und Abläufe gehen ohne ihn.</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
</context>
<context>
    <name>GraphTips</name>
    <message>
        <source>
%1 equal blocks as one; a double click shows them</source>
        <translation>
%1 gleiche Blöcke als einer; ein Doppelklick zeigt sie</translation>
    </message>
    <message>
        <source>
%1 equal blocks</source>
        <translation>
%1 gleiche Blöcke</translation>
    </message>
    <message>
        <source>
kept %1, recomputed %2, offloaded %3</source>
        <translation>
behalten %1, neu berechnet %2, ausgelagert %3</translation>
    </message>
    <message>
        <source>%1 to %2</source>
        <translation>%1 zu %2</translation>
    </message>
    <message>
        <source>
1 tensor, %1</source>
        <translation>
1 Tensor, %1</translation>
    </message>
    <message>
        <source>
%1 tensors, %2</source>
        <translation>
%1 Tensoren, %2</translation>
    </message>
    <message>
        <source>
line %1</source>
        <translation>
Zeile %1</translation>
    </message>
</context>
<context>
    <name>GraphView</name>
    <message>
        <source>Collapse with its twin</source>
        <translation>Mit dem Gegenstück einklappen</translation>
    </message>
    <message>
        <source>Expand with its twin</source>
        <translation>Mit dem Gegenstück aufklappen</translation>
    </message>
    <message>
        <source>Expand everything inside</source>
        <translation>Alles darin aufklappen</translation>
    </message>
    <message>
        <source>Fit width</source>
        <translation>Breite einpassen</translation>
    </message>
    <message>
        <source>Fit all</source>
        <translation>Alles einpassen</translation>
    </message>
    <message>
        <source>Centre the selection</source>
        <translation>Auswahl in die Mitte</translation>
    </message>
    <message>
        <source>Graph</source>
        <translation>Graph</translation>
    </message>
    <message>
        <source>Go on along the edges</source>
        <translation>Die Kanten entlang weiter</translation>
    </message>
    <message>
        <source>Go back along the edges</source>
        <translation>Die Kanten entlang zurück</translation>
    </message>
    <message>
        <source>Go to the twin on the other side</source>
        <translation>Zum Gegenstück auf der anderen Seite</translation>
    </message>
    <message>
        <source>Expand or collapse the block, with its twin</source>
        <translation>Den Block mit seinem Gegenstück auf- oder einklappen</translation>
    </message>
    <message>
        <source>Show all</source>
        <translation>Alles zeigen</translation>
    </message>
    <message>
        <source>Zoom in</source>
        <translation>Vergrößern</translation>
    </message>
    <message>
        <source>Zoom out</source>
        <translation>Verkleinern</translation>
    </message>
    <message>
        <source>Select nothing</source>
        <translation>Nichts auswählen</translation>
    </message>
    <message>
        <source>Click</source>
        <translation>Klick</translation>
    </message>
    <message>
        <source>Select</source>
        <translation>Auswählen</translation>
    </message>
    <message>
        <source>Double click</source>
        <translation>Doppelklick</translation>
    </message>
    <message>
        <source>Wheel</source>
        <translation>Rad</translation>
    </message>
    <message>
        <source>Zoom</source>
        <translation>Vergrößern und verkleinern</translation>
    </message>
    <message>
        <source>Drag</source>
        <translation>Ziehen</translation>
    </message>
    <message>
        <source>Move the picture</source>
        <translation>Das Bild verschieben</translation>
    </message>
    <message>
        <source>Show the equal blocks</source>
        <translation>Die gleichen Blöcke zeigen</translation>
    </message>
    <message>
        <source>Fold equal blocks into one</source>
        <translation>Gleiche Blöcke zu einem falten</translation>
    </message>
</context>
<context>
    <name>ItemsTable</name>
    <message>
        <source>Name</source>
        <translation>Name</translation>
    </message>
    <message>
        <source>The op with its module, or the block</source>
        <translation>Die Op mit ihrem Modul oder der Block</translation>
    </message>
    <message>
        <source>Phase</source>
        <translation>Phase</translation>
    </message>
    <message>
        <source>Of the training step</source>
        <translation>Des Trainingsschritts</translation>
    </message>
    <message>
        <source>Ops</source>
        <translation>Ops</translation>
    </message>
    <message>
        <source>Operations inside</source>
        <translation>Operationen darin</translation>
    </message>
    <message>
        <source>Made</source>
        <translation>Erzeugt</translation>
    </message>
    <message>
        <source>Bytes of all outputs, each op run once</source>
        <translation>Bytes aller Ausgaben, wenn jede Op einmal läuft</translation>
    </message>
    <message>
        <source>Kept</source>
        <translation>Behalten</translation>
    </message>
    <message>
        <source>Of these, bytes that stay until their last use</source>
        <translation>Davon Bytes, die bis zur letzten Verwendung bleiben</translation>
    </message>
    <message>
        <source>Recomputed</source>
        <translation>Neu berechnet</translation>
    </message>
    <message>
        <source>Of these, bytes that are freed and made again</source>
        <translation>Davon Bytes, die freigegeben und neu erzeugt werden</translation>
    </message>
    <message>
        <source>Offloaded</source>
        <translation>Ausgelagert</translation>
    </message>
    <message>
        <source>Of these, bytes that are copied to the host and back</source>
        <translation>Davon Bytes, die zum Host und zurück kopiert werden</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>Zeit</translation>
    </message>
    <message>
        <source>Of each op run once</source>
        <translation>Wenn jede Op einmal läuft</translation>
    </message>
    <message>
        <source>Runs</source>
        <translation>Läufe</translation>
    </message>
    <message>
        <source>Of all its ops in the schedule</source>
        <translation>Aller seiner Ops im Ablauf</translation>
    </message>
    <message>
        <source>Decision</source>
        <translation>Entscheidung</translation>
    </message>
    <message>
        <source>What happens to most of its bytes</source>
        <translation>Was mit den meisten seiner Bytes geschieht</translation>
    </message>
</context>
<context>
    <name>LanesView</name>
    <message>
        <source>Equal widths</source>
        <translation>Gleiche Breiten</translation>
    </message>
    <message>
        <source>Draw every run as wide as any other, instead of by its time</source>
        <translation>Jeden Lauf gleich breit zeichnen statt nach seiner Zeit</translation>
    </message>
    <message>
        <source>By module</source>
        <translation>Nach Modul</translation>
    </message>
    <message>
        <source>Tell the memory apart by part of the model</source>
        <translation>Den Speicher nach Teilen des Modells unterscheiden</translation>
    </message>
    <message>
        <source>Open a graph to see its schedule over time.</source>
        <translation>Öffnen Sie einen Graphen, um seinen Ablauf zu sehen.</translation>
    </message>
    <message>
        <source>No schedule yet. Solve for a budget, or show the step without recomputation from the Plan menu.</source>
        <translation>Noch kein Ablauf. Lösen Sie für ein Budget, oder zeigen Sie den Schritt ohne Neuberechnung aus dem Menü Plan.</translation>
    </message>
    <message>
        <source>This schedule cannot be played: %1</source>
        <translation>Dieser Ablauf ist nicht ausführbar: %1</translation>
    </message>
    <message>
        <source>step %1: %2 (op %3)</source>
        <translation>Schritt %1: %2 (Op %3)</translation>
    </message>
    <message>
        <source>
%1, %2 held while it runs</source>
        <translation>
%1, %2 belegt, während sie läuft</translation>
    </message>
    <message>
        <source>Schedule</source>
        <translation>Ablauf</translation>
    </message>
    <message>
        <source>Go to the next run</source>
        <translation>Zum nächsten Lauf</translation>
    </message>
    <message>
        <source>Go to the run before</source>
        <translation>Zum Lauf davor</translation>
    </message>
    <message>
        <source>Put the cursor there and select the op</source>
        <translation>Den Zeiger dorthin setzen und die Op auswählen</translation>
    </message>
    <message>
        <source>waits %1 for a copy that began in the step before</source>
        <translation>wartet %1 auf eine Kopie, die im Schritt davor begann</translation>
    </message>
    <message>
        <source>waits %1 for the copy of %2</source>
        <translation>wartet %1 auf die Kopie von %2</translation>
    </message>
    <message>
        <source>%1 goes to the host: %2</source>
        <translation>%1 geht zum Host: %2</translation>
    </message>
    <message>
        <source>%1 comes back: %2</source>
        <translation>%1 kommt zurück: %2</translation>
    </message>
    <message>
        <source>%1 in %2</source>
        <translation>%1 in %2</translation>
    </message>
    <message>
        <source>
%1 on the host</source>
        <translation>
%1 auf dem Host</translation>
    </message>
    <message>
        <source>waits %1 for %2, which runs on the host</source>
        <translation>wartet %1 auf %2, das auf dem Host läuft</translation>
    </message>
    <message>
        <source>%1 runs on the host</source>
        <translation>%1 läuft auf dem Host</translation>
    </message>
    <message>
        <source>Lifetimes of what %1 holds here</source>
        <translation>Lebensdauer dessen, was %1 hier belegt</translation>
    </message>
    <message>
        <source>Lifetimes of all that is held here</source>
        <translation>Lebensdauer von allem, was hier belegt ist</translation>
    </message>
    <message>
        <source>Ctrl and click on a band of the memory</source>
        <translation>Strg und Klick auf ein Band des Speichers</translation>
    </message>
    <message>
        <source>Show the lifetimes of its tensors</source>
        <translation>Die Lebensdauer seiner Tensoren zeigen</translation>
    </message>
    <message>
        <source>waits %1 for %2, a collective</source>
        <translation>wartet %1 auf %2, eine kollektive Operation</translation>
    </message>
    <message>
        <source>%1 sends %2 to other ranks</source>
        <translation>%1 sendet %2 an andere Ränge</translation>
    </message>
</context>
<context>
    <name>LifetimeWords</name>
    <message>
        <source>workspace of %1</source>
        <translation>Arbeitsspeicher von %1</translation>
    </message>
    <message>
        <source>made again by %1 at %2</source>
        <translation>neu erzeugt von %1 bei %2</translation>
    </message>
    <message>
        <source>made by %1 at %2</source>
        <translation>erzeugt von %1 bei %2</translation>
    </message>
    <message>
        <source>line %1</source>
        <translation>Zeile %1</translation>
    </message>
    <message>
        <source>read %1 times</source>
        <translation>%1-mal gelesen</translation>
    </message>
    <message>
        <source>unused for %1</source>
        <translation>%1 lang unbenutzt</translation>
    </message>
    <message>
        <source>stays to the end</source>
        <translation>bleibt bis zum Ende</translation>
    </message>
    <message>
        <source>freed at %1</source>
        <translation>frei ab %1</translation>
    </message>
</context>
<context>
    <name>LifetimesPicture</name>
    <message>
        <source>Lifetimes</source>
        <translation>Lebensdauer</translation>
    </message>
    <message>
        <source>Go to the tensor below</source>
        <translation>Zum Tensor darunter gehen</translation>
    </message>
    <message>
        <source>Go to the tensor above</source>
        <translation>Zum Tensor darüber gehen</translation>
    </message>
    <message>
        <source>Put the cursor on the next use of the tensor</source>
        <translation>Den Zeiger auf die nächste Verwendung des Tensors setzen</translation>
    </message>
    <message>
        <source>Put the cursor on the use before</source>
        <translation>Den Zeiger auf die Verwendung davor setzen</translation>
    </message>
    <message>
        <source>Select the op that makes the tensor</source>
        <translation>Die Operation wählen, die den Tensor erzeugt</translation>
    </message>
    <message>
        <source>Zoom in</source>
        <translation>Vergrößern</translation>
    </message>
    <message>
        <source>Zoom out</source>
        <translation>Verkleinern</translation>
    </message>
    <message>
        <source>Move to what is before</source>
        <translation>Zum Früheren verschieben</translation>
    </message>
    <message>
        <source>Move to what comes after</source>
        <translation>Zum Späteren verschieben</translation>
    </message>
    <message>
        <source>Show all</source>
        <translation>Alles zeigen</translation>
    </message>
    <message>
        <source>Click on a mark</source>
        <translation>Klick auf eine Marke</translation>
    </message>
    <message>
        <source>Put the cursor on that step</source>
        <translation>Den Zeiger auf diesen Schritt setzen</translation>
    </message>
    <message>
        <source>Click on a bar</source>
        <translation>Klick auf einen Balken</translation>
    </message>
    <message>
        <source>Wheel</source>
        <translation>Rad</translation>
    </message>
    <message>
        <source>Scroll</source>
        <translation>Rollen</translation>
    </message>
    <message>
        <source>Ctrl and wheel</source>
        <translation>Strg und Rad</translation>
    </message>
    <message>
        <source>Zoom</source>
        <translation>Vergrößern und verkleinern</translation>
    </message>
    <message>
        <source>Drag</source>
        <translation>Ziehen</translation>
    </message>
    <message>
        <source>Move the picture</source>
        <translation>Das Bild verschieben</translation>
    </message>
    <message>
        <source>Double click</source>
        <translation>Doppelklick</translation>
    </message>
    <message>
        <source>What a schedule holds in memory appears here, each tensor from its making to its end.</source>
        <translation>Hier steht, was ein Ablauf im Speicher hält, jeder Tensor von seiner Erzeugung bis zu seinem Ende.</translation>
    </message>
</context>
<context>
    <name>LifetimesTable</name>
    <message>
        <source>Tensor</source>
        <translation>Tensor</translation>
    </message>
    <message>
        <source>What is held</source>
        <translation>Was belegt ist</translation>
    </message>
    <message>
        <source>Shape</source>
        <translation>Form</translation>
    </message>
    <message>
        <source>Type and sizes of the tensor as it is made</source>
        <translation>Typ und Größen des Tensors, wie er entsteht</translation>
    </message>
    <message>
        <source>Bytes</source>
        <translation>Bytes</translation>
    </message>
    <message>
        <source>That it takes now</source>
        <translation>Die er jetzt belegt</translation>
    </message>
    <message>
        <source>Since</source>
        <translation>Seit</translation>
    </message>
    <message>
        <source>When it was made, or made again</source>
        <translation>Wann er erzeugt oder neu erzeugt wurde</translation>
    </message>
    <message>
        <source>Made by</source>
        <translation>Erzeugt von</translation>
    </message>
    <message>
        <source>The op that makes it</source>
        <translation>Die Operation, die ihn erzeugt</translation>
    </message>
    <message>
        <source>Reads</source>
        <translation>Gelesen</translation>
    </message>
    <message>
        <source>How often it is read before it is freed</source>
        <translation>Wie oft er gelesen wird, bevor er frei wird</translation>
    </message>
    <message>
        <source>Until</source>
        <translation>Bis</translation>
    </message>
    <message>
        <source>When it is freed, or written over</source>
        <translation>Wann er frei oder überschrieben wird</translation>
    </message>
    <message>
        <source>Unused</source>
        <translation>Unbenutzt</translation>
    </message>
    <message>
        <source>The longest time between two uses</source>
        <translation>Die längste Zeit zwischen zwei Verwendungen</translation>
    </message>
    <message>
        <source>Line</source>
        <translation>Zeile</translation>
    </message>
    <message>
        <source>Of the model, where the tensor is made</source>
        <translation>Des Modells, in der der Tensor entsteht</translation>
    </message>
    <message>
        <source>always</source>
        <translation>immer</translation>
    </message>
    <message>
        <source>the end</source>
        <translation>zum Ende</translation>
    </message>
</context>
<context>
    <name>LifetimesView</name>
    <message>
        <source>by bytes</source>
        <translation>nach Bytes</translation>
    </message>
    <message>
        <source>by bytes and time unused</source>
        <translation>nach Bytes und unbenutzter Zeit</translation>
    </message>
    <message>
        <source>By bytes: the heaviest tensor first.
By bytes and time unused: what holds the most for the longest time without a use first.</source>
        <translation>Nach Bytes: der schwerste Tensor zuerst.
Nach Bytes und unbenutzter Zeit: zuerst, was am längsten ohne Verwendung am meisten belegt.</translation>
    </message>
    <message>
        <source>Order of the tensors</source>
        <translation>Reihenfolge der Tensoren</translation>
    </message>
    <message>
        <source>The part of the model whose tensors are shown, as the bands of the memory are</source>
        <translation>Der Teil des Modells, dessen Tensoren gezeigt werden, wie die Bänder des Speichers</translation>
    </message>
    <message>
        <source>Part of the model</source>
        <translation>Teil des Modells</translation>
    </message>
    <message>
        <source>all parts</source>
        <translation>alle Teile</translation>
    </message>
    <message>
        <source>step %1</source>
        <translation>Schritt %1</translation>
    </message>
    <message>
        <source>%1 tensors, %2, held while %3 runs</source>
        <translation>%1 Tensoren, %2, belegt, während %3 läuft</translation>
    </message>
</context>
<context>
    <name>LinesDialog</name>
    <message>
        <source>In the training program:</source>
        <translation>Im Trainingsprogramm:</translation>
    </message>
    <message>
        <source>Or in a forward that checkpoints its blocks itself:</source>
        <translation>Oder in einem Forward, der seine Blöcke selbst mit Checkpoints ausführt:</translation>
    </message>
    <message>
        <source>In a shell:</source>
        <translation>In einer Shell:</translation>
    </message>
    <message>
        <source>Lines to paste</source>
        <translation>Zeilen zum Einfügen</translation>
    </message>
    <message>
        <source>Saved %1</source>
        <translation>%1 gespeichert</translation>
    </message>
    <message>
        <source>Show this after each export</source>
        <translation>Nach jedem Export zeigen</translation>
    </message>
</context>
<context>
    <name>LinesToCopy</name>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Copy: %1</source>
        <translation>Kopieren: %1</translation>
    </message>
</context>
<context>
    <name>LinkBox</name>
    <message>
        <source>%1 time, no wait</source>
        <translation>%1 Zeit, kein Warten</translation>
    </message>
    <message>
        <source>%1 time, waits %2</source>
        <translation>%1 Zeit, wartet %2</translation>
    </message>
    <message>
        <source>Solve for this link</source>
        <translation>Für diese Verbindung lösen</translation>
    </message>
    <message>
        <source>The plan over</source>
        <translation>Der Plan über</translation>
    </message>
    <message>
        <source>What the steps of this plan would cost over another link, without solving again</source>
        <translation>Was die Schritte dieses Plans über eine andere Verbindung kosten würden, ohne neu zu lösen</translation>
    </message>
    <message>
        <source>A plan for the same budget that is made for this link</source>
        <translation>Ein Plan für dasselbe Budget, der für diese Verbindung gemacht ist</translation>
    </message>
    <message>
        <source>its own link, %1</source>
        <translation>seine eigene Verbindung, %1</translation>
    </message>
    <message>
        <source>Over %1 the same steps cost %2. Over its own link: %3.</source>
        <translation>Über %1 kosten dieselben Schritte %2. Über die eigene Verbindung: %3.</translation>
    </message>
    <message>
        <source>Over %1 these steps are not possible: %2.</source>
        <translation>Über %1 sind diese Schritte nicht möglich: %2.</translation>
    </message>
</context>
<context>
    <name>MainWindow</name>
    <message>
        <source>The plans of this graph could not be kept beside it, and are lost when the window closes. Export what you want to keep first.</source>
        <translation>Die Pläne dieses Graphen konnten nicht neben ihm aufbewahrt werden und gehen mit dem Fenster verloren. Exportieren Sie vorher, was bleiben soll.</translation>
    </message>
    <message>
        <source>&amp;File</source>
        <translation>&amp;Datei</translation>
    </message>
    <message>
        <source>&amp;Open</source>
        <translation>Ö&amp;ffnen</translation>
    </message>
    <message>
        <source>Open &amp;recent</source>
        <translation>Zul&amp;etzt geöffnet</translation>
    </message>
    <message>
        <source>&amp;Export</source>
        <translation>E&amp;xportieren</translation>
    </message>
    <message>
        <source>&amp;Close graph</source>
        <translation>Graph &amp;schließen</translation>
    </message>
    <message>
        <source>&amp;Quit</source>
        <translation>&amp;Beenden</translation>
    </message>
    <message>
        <source>&amp;Schedule (.schedule.json)...</source>
        <translation>&amp;Ablauf (.schedule.json)...</translation>
    </message>
    <message>
        <source>&amp;Plan for training (.plan)...</source>
        <translation>&amp;Plan für das Training (.plan)...</translation>
    </message>
    <message>
        <source>S&amp;weep (.sweep.json)...</source>
        <translation>&amp;Reihe (.sweep.json)...</translation>
    </message>
    <message>
        <source>Picture of the &amp;graph...</source>
        <translation>Bild des &amp;Graphen...</translation>
    </message>
    <message>
        <source>Picture of the s&amp;chedule...</source>
        <translation>Bild des A&amp;blaufs...</translation>
    </message>
    <message>
        <source>Picture of the &amp;trade-off...</source>
        <translation>Bild der Ab&amp;wägung...</translation>
    </message>
    <message>
        <source>Picture of the current &amp;view...</source>
        <translation>Bild der gezeigten A&amp;nsicht...</translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation>&amp;Ansicht</translation>
    </message>
    <message>
        <source>Fit &amp;width</source>
        <translation>&amp;Breite einpassen</translation>
    </message>
    <message>
        <source>Fit &amp;all</source>
        <translation>&amp;Alles einpassen</translation>
    </message>
    <message>
        <source>&amp;Centre the selection</source>
        <translation>Auswahl in die &amp;Mitte</translation>
    </message>
    <message>
        <source>Zoom &amp;in</source>
        <translation>&amp;Vergrößern</translation>
    </message>
    <message>
        <source>Zoom &amp;out</source>
        <translation>Ver&amp;kleinern</translation>
    </message>
    <message>
        <source>One level &amp;more</source>
        <translation>Eine Ebene m&amp;ehr</translation>
    </message>
    <message>
        <source>One level &amp;less</source>
        <translation>Eine Ebene &amp;weniger</translation>
    </message>
    <message>
        <source>&amp;Search</source>
        <translation>&amp;Suchen</translation>
    </message>
    <message>
        <source>&amp;Go to</source>
        <translation>&amp;Gehen zu</translation>
    </message>
    <message>
        <source>Colo&amp;urs</source>
        <translation>&amp;Farben</translation>
    </message>
    <message>
        <source>Restore &amp;default layout</source>
        <translation>Anordnung &amp;zurücksetzen</translation>
    </message>
    <message>
        <source>As the &amp;system</source>
        <translation>Wie das &amp;System</translation>
    </message>
    <message>
        <source>&amp;Light</source>
        <translation>&amp;Hell</translation>
    </message>
    <message>
        <source>&amp;Dark</source>
        <translation>&amp;Dunkel</translation>
    </message>
    <message>
        <source>&amp;Plan</source>
        <translation>&amp;Plan</translation>
    </message>
    <message>
        <source>Show the step without re&amp;computation</source>
        <translation>Den Schritt ohne &amp;Neuberechnung zeigen</translation>
    </message>
    <message>
        <source>Batch si&amp;ze</source>
        <translation>Batch&amp;größe</translation>
    </message>
    <message>
        <source>Cancel &amp;everything</source>
        <translation>Alles &amp;abbrechen</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>&amp;Hilfe</translation>
    </message>
    <message>
        <source>&amp;Keyboard shortcuts</source>
        <translation>&amp;Tastenkürzel</translation>
    </message>
    <message>
        <source>Fin&amp;d a command</source>
        <translation>&amp;Befehl suchen</translation>
    </message>
    <message>
        <source>Earlier &amp;messages</source>
        <translation>Frühere &amp;Meldungen</translation>
    </message>
    <message>
        <source>&amp;About Rematlas Explorer</source>
        <translation>Über &amp;Rematlas Explorer</translation>
    </message>
    <message>
        <source>Tools</source>
        <translation>Werkzeuge</translation>
    </message>
    <message>
        <source>Export</source>
        <translation>Exportieren</translation>
    </message>
    <message>
        <source>Export schedules, plans and pictures</source>
        <translation>Abläufe, Pläne und Bilder exportieren</translation>
    </message>
    <message>
        <source>Colour by</source>
        <translation>Farbe nach</translation>
    </message>
    <message>
        <source>decision</source>
        <translation>Entscheidung</translation>
    </message>
    <message>
        <source>phase</source>
        <translation>Phase</translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>Antwort</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>Öffnen</translation>
    </message>
    <message>
        <source>No file has been opened yet</source>
        <translation>Noch keine Datei wurde geöffnet</translation>
    </message>
    <message>
        <source>Clear the list</source>
        <translation>Die Liste leeren</translation>
    </message>
    <message>
        <source>Plan %1</source>
        <translation>Plan %1</translation>
    </message>
    <message>
        <source>%1, %2 time</source>
        <translation>%1, %2 Zeit</translation>
    </message>
    <message>
        <source>Block, %1</source>
        <translation>Block, %1</translation>
    </message>
    <message>
        <source>In: %1</source>
        <translation>In: %1</translation>
    </message>
    <message>
        <source>Saved %1</source>
        <translation>%1 gespeichert</translation>
    </message>
    <message>
        <source>Writing %1</source>
        <translation>%1 wird geschrieben</translation>
    </message>
    <message>
        <source>Export the schedule</source>
        <translation>Den Ablauf exportieren</translation>
    </message>
    <message>
        <source>Schedules (*.schedule.json)</source>
        <translation>Abläufe (*.schedule.json)</translation>
    </message>
    <message>
        <source>This graph came from a plan; export the schedule, or open the graph file itself to make another plan.</source>
        <translation>Dieser Graph kam aus einem Plan; exportieren Sie den Ablauf, oder öffnen Sie die Graphdatei selbst, um einen anderen Plan zu machen.</translation>
    </message>
    <message>
        <source>Export a plan for training</source>
        <translation>Einen Plan für das Training exportieren</translation>
    </message>
    <message>
        <source>Plans (*.plan)</source>
        <translation>Pläne (*.plan)</translation>
    </message>
    <message>
        <source>Export the sweep</source>
        <translation>Die Reihe exportieren</translation>
    </message>
    <message>
        <source>Sweeps (*.sweep.json)</source>
        <translation>Reihen (*.sweep.json)</translation>
    </message>
    <message>
        <source>Picture of the graph</source>
        <translation>Bild des Graphen</translation>
    </message>
    <message>
        <source>Picture of the schedule</source>
        <translation>Bild des Ablaufs</translation>
    </message>
    <message>
        <source>Picture of the trade-off</source>
        <translation>Bild der Abwägung</translation>
    </message>
    <message>
        <source>Picture of the current view</source>
        <translation>Bild der gezeigten Ansicht</translation>
    </message>
    <message>
        <source>Graph</source>
        <translation>Graph</translation>
    </message>
    <message>
        <source>Next view</source>
        <translation>Nächste Ansicht</translation>
    </message>
    <message>
        <source>View before</source>
        <translation>Ansicht davor</translation>
    </message>
    <message>
        <source>Picture or &amp;table of this view</source>
        <translation>Bild oder &amp;Tabelle dieser Ansicht</translation>
    </message>
    <message>
        <source>Rematlas Explorer</source>
        <translation>Rematlas Explorer</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Progress</source>
        <translation>Fortschritt</translation>
    </message>
    <message>
        <source>Open another file...</source>
        <translation>Eine andere Datei öffnen...</translation>
    </message>
    <message>
        <source>Opening %1</source>
        <translation>%1 wird geöffnet</translation>
    </message>
    <message>
        <source>Capturing the model</source>
        <translation>Das Modell wird aufgenommen</translation>
    </message>
    <message>
        <source>%1 - Rematlas Explorer</source>
        <translation>%1 - Rematlas Explorer</translation>
    </message>
    <message>
        <source>%1:  %2 ops, %3 tensors, %4 blocks;  peak without recomputation %5, step %6</source>
        <translation>%1:  %2 Ops, %3 Tensoren, %4 Blöcke;  Spitze ohne Neuberechnung %5, Schritt %6</translation>
    </message>
    <message>
        <source>Nothing is open</source>
        <translation>Nichts ist geöffnet</translation>
    </message>
    <message>
        <source>%1: cannot be read</source>
        <translation>%1: nicht lesbar</translation>
    </message>
    <message>
        <source>&amp;Report to send to others (.html)...</source>
        <translation>Be&amp;richt zum Weitergeben (.html)...</translation>
    </message>
    <message>
        <source>Ta&amp;ble (.csv)</source>
        <translation>Ta&amp;belle (.csv)</translation>
    </message>
    <message>
        <source>Report</source>
        <translation>Bericht</translation>
    </message>
    <message>
        <source>Reports (*.html)</source>
        <translation>Berichte (*.html)</translation>
    </message>
    <message>
        <source>%1...</source>
        <translation>%1...</translation>
    </message>
    <message>
        <source>Tables (*.csv)</source>
        <translation>Tabellen (*.csv)</translation>
    </message>
    <message>
        <source>%1: models are captured by the Python package of Rematlas, which is not installed in the active environment. Graphs (.graph.json) can be opened without it.</source>
        <translation>%1: Modelle nimmt das Python-Paket von Rematlas auf, das in der aktiven Umgebung nicht installiert ist. Graphen (.graph.json) lassen sich ohne es öffnen.</translation>
    </message>
    <message>
        <source>Hide the panel: %1</source>
        <translation>Feld verbergen: %1</translation>
    </message>
    <message>
        <source>Show the panel: %1</source>
        <translation>Feld zeigen: %1</translation>
    </message>
    <message>
        <source>Go to %1</source>
        <translation>Gehe zu %1</translation>
    </message>
    <message>
        <source>Plans are kept beside the graph again.</source>
        <translation>Pläne werden wieder neben dem Graphen aufbewahrt.</translation>
    </message>
    <message>
        <source>Export the table: %1</source>
        <translation>Die Tabelle exportieren: %1</translation>
    </message>
    <message>
        <source>New plans are not kept beside the graph: %1. It is tried again; export what you want to keep until then.</source>
        <translation>Neue Pläne werden nicht neben dem Graphen aufbewahrt: %1. Es wird erneut versucht; bis dahin exportieren, was bleiben soll.</translation>
    </message>
    <message>
        <source>Open from another &amp;machine...</source>
        <translation>Von einem anderen &amp;Rechner öffnen...</translation>
    </message>
    <message>
        <source>Policy for chec&amp;kpointing (.policy.json)...</source>
        <translation>Richtlinie für Chec&amp;kpointing (.policy.json)...</translation>
    </message>
    <message>
        <source>Selectors for t&amp;orchtitan (.txt)...</source>
        <translation>Selektoren für t&amp;orchtitan (.txt)...</translation>
    </message>
    <message>
        <source>&amp;Lines to paste for the last export</source>
        <translation>Zei&amp;len zum Einfügen für den letzten Export</translation>
    </message>
    <message>
        <source>bytes at the peak</source>
        <translation>Bytes an der Spitze</translation>
    </message>
    <message>
        <source>time</source>
        <translation>Zeit</translation>
    </message>
    <message>
        <source>cost to run again</source>
        <translation>Kosten eines weiteren Laufs</translation>
    </message>
    <message>
        <source>Decision: kept, recomputed or offloaded, once there is a schedule.
Phase: forward, loss, backward, optimizer.
Bytes at the peak: of the tensors that a block made, while the most is held.
Time: of all runs in the schedule.
Cost to run again: time for each MiB that a block makes.</source>
        <translation>Entscheidung: behalten, neu berechnet oder ausgelagert, sobald es einen Ablauf gibt.
Phase: vorwärts, Verlust, rückwärts, Optimierer.
Bytes an der Spitze: der Tensoren, die ein Block gemacht hat, während am meisten belegt ist.
Zeit: aller Läufe im Ablauf.
Kosten eines weiteren Laufs: Zeit für jedes MiB, das ein Block macht.</translation>
    </message>
    <message>
        <source>All that can be opened (*.pt *.pt2 *.py *.graph.json *.schedule.json *.sweep.json *.plan *.pickle *.jsonl);;Models (*.pt *.pt2 *.py);;Training graphs (*.graph.json);;Schedules (*.schedule.json);;Sweeps (*.sweep.json);;Plans (*.plan);;Memory snapshots (*.pickle);;Training runs (*.jsonl)</source>
        <translation>Alles, was geöffnet werden kann (*.pt *.pt2 *.py *.graph.json *.schedule.json *.sweep.json *.plan *.pickle *.jsonl);;Modelle (*.pt *.pt2 *.py);;Trainingsgraphen (*.graph.json);;Abläufe (*.schedule.json);;Reihen (*.sweep.json);;Pläne (*.plan);;Speicherabbilder (*.pickle);;Trainingsläufe (*.jsonl)</translation>
    </message>
    <message>
        <source>%1 (capture again)</source>
        <translation>%1 (erneut aufnehmen)</translation>
    </message>
    <message>
        <source>Export selectors for torchtitan</source>
        <translation>Selektoren für torchtitan exportieren</translation>
    </message>
    <message>
        <source>Texts (*.txt)</source>
        <translation>Texte (*.txt)</translation>
    </message>
    <message>
        <source>Export a policy for checkpointing</source>
        <translation>Eine Richtlinie für Checkpointing exportieren</translation>
    </message>
    <message>
        <source>Policies (*.policy.json)</source>
        <translation>Richtlinien (*.policy.json)</translation>
    </message>
    <message>
        <source>Open from another machine</source>
        <translation>Von einem anderen Rechner öffnen</translation>
    </message>
    <message>
        <source>A file as ssh://[user@]host[:port]/path, or a function of one as ssh://host/path/nets.py:step. A key or an agent must let ssh in. Captures and solvers run there.</source>
        <translation>Eine Datei als ssh://[Nutzer@]Rechner[:Port]/Pfad, oder eine Funktion darin als ssh://Rechner/Pfad/nets.py:step. Ein Schlüssel oder ein Agent muss ssh einlassen. Aufnahmen und Löser laufen dort.</translation>
    </message>
    <message>
        <source>Asking %1 about %2</source>
        <translation>%1 wird nach %2 gefragt</translation>
    </message>
    <message>
        <source>What the stopped solver had found is kept as plan %1.</source>
        <translation>Was der angehaltene Löser gefunden hatte, bleibt als Plan %1.</translation>
    </message>
    <message>
        <source>%1 is another file now, and the window shows the graph of the one before. Its plans are not kept any more: export what you need, then open the file again.</source>
        <translation>%1 ist jetzt eine andere Datei, und das Fenster zeigt den Graphen der vorigen. Seine Pläne werden nicht mehr aufgehoben: Exportieren Sie, was Sie brauchen, und öffnen Sie die Datei dann noch einmal.</translation>
    </message>
    <message>
        <source>Open it again</source>
        <translation>Noch einmal öffnen</translation>
    </message>
    <message>
        <source>%1 is gone from the disk. Its plans are not kept any more: export what you need, or put the file back.</source>
        <translation>%1 ist nicht mehr auf der Platte. Die Pläne werden nicht mehr aufgehoben: Exportieren Sie, was Sie brauchen, oder legen Sie die Datei zurück.</translation>
    </message>
</context>
<context>
    <name>MeasuredBlocks</name>
    <message>
        <source>Allocated by</source>
        <translation>Belegt von</translation>
    </message>
    <message>
        <source>The innermost call in your own code; a tip on the row has all calls</source>
        <translation>Der innerste Aufruf im eigenen Code; der Hinweis zur Zeile nennt alle Aufrufe</translation>
    </message>
    <message>
        <source>Bytes</source>
        <translation>Bytes</translation>
    </message>
    <message>
        <source>As requested: the allocator rounds them up</source>
        <translation>Wie angefordert: die Speicherverwaltung rundet auf</translation>
    </message>
    <message>
        <source>Since event</source>
        <translation>Seit Ereignis</translation>
    </message>
    <message>
        <source>The event that allocated it; 0 where that was before the trace begins</source>
        <translation>Das Ereignis, das ihn belegte; 0, wo das vor Beginn der Aufzeichnung war</translation>
    </message>
    <message>
        <source>Until event</source>
        <translation>Bis Ereignis</translation>
    </message>
    <message>
        <source>The event that gives it back; none where it stays</source>
        <translation>Das Ereignis, das ihn freigibt; leer, wo er bleibt</translation>
    </message>
    <message>
        <source>Address</source>
        <translation>Adresse</translation>
    </message>
    <message>
        <source>Where it lies on the device</source>
        <translation>Wo er auf dem Gerät liegt</translation>
    </message>
    <message>
        <source>Words</source>
        <translation>Notiz</translation>
    </message>
    <message>
        <source>What the program noted at its allocation</source>
        <translation>Was das Programm beim Belegen notierte</translation>
    </message>
</context>
<context>
    <name>MeasuredView</name>
    <message>
        <source>Measured memory over time</source>
        <translation>Gemessener Speicher über die Zeit</translation>
    </message>
    <message>
        <source>Measured memory</source>
        <translation>Gemessener Speicher</translation>
    </message>
    <message>
        <source>Go to the next event</source>
        <translation>Zum nächsten Ereignis gehen</translation>
    </message>
    <message>
        <source>Go to the event before</source>
        <translation>Zum vorigen Ereignis gehen</translation>
    </message>
</context>
<context>
    <name>MeasuredWindow</name>
    <message>
        <source>Segments of the allocator</source>
        <translation>Segmente der Speicherverwaltung</translation>
    </message>
    <message>
        <source>This file names no segments.</source>
        <translation>Diese Datei nennt keine Segmente.</translation>
    </message>
    <message>
        <source>Blocks at the cursor</source>
        <translation>Blöcke am Zeiger</translation>
    </message>
    <message>
        <source>Segments</source>
        <translation>Segmente</translation>
    </message>
    <message>
        <source>Against the plan</source>
        <translation>Gegen den Plan</translation>
    </message>
    <message>
        <source>Device</source>
        <translation>Gerät</translation>
    </message>
    <message>
        <source>Go to the peak</source>
        <translation>Zur Spitze gehen</translation>
    </message>
    <message>
        <source>%1: measured memory</source>
        <translation>%1: gemessener Speicher</translation>
    </message>
    <message>
        <source>Reading %1 ...</source>
        <translation>%1 wird gelesen ...</translation>
    </message>
    <message>
        <source>%1: %2 allocated at the peak</source>
        <translation>%1: an der Spitze %2 belegt</translation>
    </message>
    <message>
        <source>%1, %2 reserved at most</source>
        <translation>%1, höchstens %2 reserviert</translation>
    </message>
    <message>
        <source>The trace begins with %1 allocated, of which it does not say where %2 were allocated.</source>
        <translation>Zu Beginn der Aufzeichnung sind %1 belegt; von %2 davon sagt sie nicht, wo sie belegt wurden.</translation>
    </message>
    <message>
        <source>Bytes are as requested; at the end the allocator&apos;s blocks are larger by %1.</source>
        <translation>Bytes sind wie angefordert; am Ende sind die Blöcke der Speicherverwaltung um %1 größer.</translation>
    </message>
    <message>
        <source>Events are missing, so that levels can be too high or too low.</source>
        <translation>Es fehlen Ereignisse, so dass die Werte zu hoch oder zu niedrig sein können.</translation>
    </message>
    <message>
        <source>The plan foretells %1 at its peak, measured are %2 (%3). Its curve lies over the step of the measured peak, peak on peak.</source>
        <translation>Der Plan sagt für seine Spitze %1 voraus, gemessen sind %2 (%3). Seine Kurve liegt über dem Schritt der gemessenen Spitze, Spitze auf Spitze.</translation>
    </message>
</context>
<context>
    <name>MessageBar</name>
    <message>
        <source>Message</source>
        <translation>Meldung</translation>
    </message>
    <message>
        <source>Remedy</source>
        <translation>Abhilfe</translation>
    </message>
    <message>
        <source>Earlier</source>
        <translation>Frühere</translation>
    </message>
    <message>
        <source>Messages of this window, the last first</source>
        <translation>Meldungen dieses Fensters, die letzte zuerst</translation>
    </message>
    <message>
        <source>Dismiss</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Dismiss the message</source>
        <translation>Die Meldung schließen</translation>
    </message>
    <message>
        <source>Messages</source>
        <translation>Meldungen</translation>
    </message>
    <message>
        <source>There were none.</source>
        <translation>Es gab keine.</translation>
    </message>
</context>
<context>
    <name>ModelFile</name>
    <message>
        <source>This has the form of a TorchScript file, but cannot be loaded: it is damaged, or was made by a newer PyTorch.</source>
        <translation>Dies hat die Form einer TorchScript-Datei, lässt sich aber nicht laden: sie ist beschädigt oder von einem neueren PyTorch.</translation>
    </message>
    <message>
        <source>This has the form of an exported program (torch.export), but cannot be loaded: it is damaged, or was made by a newer PyTorch.</source>
        <translation>Dies hat die Form eines exportierten Programms (torch.export), lässt sich aber nicht laden: es ist beschädigt oder von einem neueren PyTorch.</translation>
    </message>
    <message>
        <source>This is an exported program (torch.export) of an old PyTorch. Export it again with a PyTorch of today.</source>
        <translation>Dies ist ein exportiertes Programm (torch.export) eines alten PyTorch. Exportieren Sie es mit einem heutigen PyTorch noch einmal.</translation>
    </message>
    <message>
        <source>This holds weights (torch.save): tensors by name, but not the model that computes with them.</source>
        <translation>Dies enthält Gewichte (torch.save): Tensoren mit Namen, nicht aber das Modell, das mit ihnen rechnet.</translation>
    </message>
    <message>
        <source>This is a pickled object of Python (torch.save), of the class %1. Only Python, with that class at hand, can load it.</source>
        <translation>Dies ist ein Python-Objekt (torch.save) der Klasse %1. Nur Python kann es laden, wenn diese Klasse zur Hand ist.</translation>
    </message>
    <message>
        <source>This holds weights (safetensors): tensors by name, but not the model that computes with them.</source>
        <translation>Dies enthält Gewichte (safetensors): Tensoren mit Namen, nicht aber das Modell, das mit ihnen rechnet.</translation>
    </message>
    <message>
        <source>This is an ONNX model, which has no backward pass. The training step is captured from the PyTorch model that it was made from.</source>
        <translation>Dies ist ein ONNX-Modell, das keinen Rückwärtslauf hat. Der Trainingsschritt wird von dem PyTorch-Modell aufgenommen, aus dem es entstand.</translation>
    </message>
    <message>
        <source>This is an HDF5 file, as Keras writes them. Only PyTorch models can be captured.</source>
        <translation>Dies ist eine HDF5-Datei, wie Keras sie schreibt. Nur PyTorch-Modelle lassen sich aufnehmen.</translation>
    </message>
    <message>
        <source>This holds weights for inference (GGUF). The training step is captured from the PyTorch model that they belong to.</source>
        <translation>Dies enthält Gewichte zum Anwenden (GGUF). Der Trainingsschritt wird von dem PyTorch-Modell aufgenommen, zu dem sie gehören.</translation>
    </message>
    <message>
        <source>This is Python. A function in it that returns the model and its arguments can be captured.</source>
        <translation>Dies ist Python. Eine Funktion darin, die das Modell und seine Argumente zurückgibt, lässt sich aufnehmen.</translation>
    </message>
    <message>
        <source>This cannot be read.</source>
        <translation>Dies ist nicht lesbar.</translation>
    </message>
    <message>
        <source>This is no model file that is known here. What can be captured is a TorchScript file or an exported program.</source>
        <translation>Dies ist keine Modelldatei, die hier bekannt ist. Aufnehmen lässt sich eine TorchScript-Datei oder ein exportiertes Programm.</translation>
    </message>
</context>
<context>
    <name>ModelHelpDialog</name>
    <message>
        <source>Capture a model</source>
        <translation>Ein Modell aufnehmen</translation>
    </message>
    <message>
        <source>Make a TorchScript file in Python, and open that:</source>
        <translation>In Python eine TorchScript-Datei machen und diese öffnen:</translation>
    </message>
    <message>
        <source>The function:</source>
        <translation>Die Funktion:</translation>
    </message>
    <message>
        <source>Or, for a model that cannot be scripted, write a function in capture_me.py:</source>
        <translation>Oder, bei einem Modell, das sich nicht als TorchScript schreiben lässt, eine Funktion in capture_me.py:</translation>
    </message>
    <message>
        <source>and open capture_me.py, or record its training step and open the graph:</source>
        <translation>und capture_me.py öffnen, oder ihren Trainingsschritt aufzeichnen und den Graphen öffnen:</translation>
    </message>
</context>
<context>
    <name>PeakDifferencesTable</name>
    <message>
        <source>At the peak of</source>
        <translation>An der Spitze von</translation>
    </message>
    <message>
        <source>Where it is, and not at the other peak</source>
        <translation>Wo es ist und an der anderen Spitze nicht</translation>
    </message>
    <message>
        <source>Bytes</source>
        <translation>Bytes</translation>
    </message>
    <message>
        <source>Of all of these blocks</source>
        <translation>Aller dieser Blöcke zusammen</translation>
    </message>
    <message>
        <source>Blocks</source>
        <translation>Blöcke</translation>
    </message>
    <message>
        <source>So many more of this size than at the other peak</source>
        <translation>So viele dieser Größe mehr als an der anderen Spitze</translation>
    </message>
    <message>
        <source>Names</source>
        <translation>Namen</translation>
    </message>
    <message>
        <source>Lines of your code, or tensors of the plan, that have blocks of this size</source>
        <translation>Zeilen des eigenen Codes oder Tensoren des Plans, die Blöcke dieser Größe haben</translation>
    </message>
    <message>
        <source>the measurement</source>
        <translation>Messung</translation>
    </message>
    <message>
        <source>the plan</source>
        <translation>Plan</translation>
    </message>
</context>
<context>
    <name>Phase</name>
    <message>
        <source>forward</source>
        <translation>vorwärts</translation>
    </message>
    <message>
        <source>loss</source>
        <translation>Verlust</translation>
    </message>
    <message>
        <source>backward</source>
        <translation>rückwärts</translation>
    </message>
    <message>
        <source>optimizer</source>
        <translation>Optimierer</translation>
    </message>
</context>
<context>
    <name>Picture</name>
    <message>
        <source>%1 runs</source>
        <translation>%1 Läufe</translation>
    </message>
    <message>
        <source>block %1</source>
        <translation>Block %1</translation>
    </message>
    <message>
        <source>%1 ops</source>
        <translation>%1 Ops</translation>
    </message>
    <message>
        <source>run %1</source>
        <translation>Lauf %1</translation>
    </message>
    <message>
        <source>only in %1</source>
        <translation>nur in %1</translation>
    </message>
    <message>
        <source>resident</source>
        <translation>dauernd belegt</translation>
    </message>
    <message>
        <source>workspace</source>
        <translation>Arbeitsspeicher der Op</translation>
    </message>
    <message>
        <source>time [%1]</source>
        <translation>Zeit [%1]</translation>
    </message>
    <message>
        <source>runs</source>
        <translation>Läufe</translation>
    </message>
    <message>
        <source>device memory [%1]</source>
        <translation>Gerätespeicher [%1]</translation>
    </message>
    <message>
        <source>evictions</source>
        <translation>Verdrängungen</translation>
    </message>
    <message>
        <source>without recomputation: up to %1</source>
        <translation>ohne Neuberechnung: bis %1</translation>
    </message>
    <message>
        <source>without recomputation: %1</source>
        <translation>ohne Neuberechnung: %1</translation>
    </message>
    <message>
        <source>resident: parameters, buffers, inputs %1</source>
        <translation>dauernd belegt: Parameter, Puffer, Eingaben %1</translation>
    </message>
    <message>
        <source>budget %1</source>
        <translation>Budget %1</translation>
    </message>
    <message>
        <source>peak %1</source>
        <translation>Spitze %1</translation>
    </message>
    <message>
        <source>%1 in %2</source>
        <translation>%1 in %2</translation>
    </message>
    <message>
        <source>forward</source>
        <translation>vorwärts</translation>
    </message>
    <message>
        <source>recompute</source>
        <translation>neu berechnen</translation>
    </message>
    <message>
        <source>backward</source>
        <translation>rückwärts</translation>
    </message>
    <message>
        <source>copy to host</source>
        <translation>zum Host kopieren</translation>
    </message>
    <message>
        <source>copy back</source>
        <translation>zurückkopieren</translation>
    </message>
    <message>
        <source>%1 (nothing)</source>
        <translation>%1 (nichts)</translation>
    </message>
    <message>
        <source>proven lower bound</source>
        <translation>bewiesene untere Schranke</translation>
    </message>
    <message>
        <source>peak memory [%1]</source>
        <translation>Spitzenspeicher [%1]</translation>
    </message>
    <message>
        <source>time added by recomputation</source>
        <translation>Mehrzeit durch Neuberechnung</translation>
    </message>
    <message>
        <source>added time</source>
        <translation>Mehrzeit</translation>
    </message>
    <message>
        <source>infeasible below %1</source>
        <translation>unmöglich unter %1</translation>
    </message>
    <message>
        <source>infeasible</source>
        <translation>unmöglich</translation>
    </message>
    <message>
        <source>no recomputation: %1</source>
        <translation>ohne Neuberechnung: %1</translation>
    </message>
    <message>
        <source>blocks %1</source>
        <translation>Blöcke %1</translation>
    </message>
    <message>
        <source>%1, step %2</source>
        <translation>%1, Schritt %2</translation>
    </message>
    <message>
        <source>host [%1]</source>
        <translation>Host [%1]</translation>
    </message>
    <message>
        <source>on the host: at most %1</source>
        <translation>auf dem Host: höchstens %1</translation>
    </message>
    <message>
        <source>waiting</source>
        <translation>Warten</translation>
    </message>
    <message>
        <source>%1 with copies of activations over %2</source>
        <translation>%1 mit Kopien von Aktivierungen über %2</translation>
    </message>
    <message>
        <source>%1 with copies of activations</source>
        <translation>%1 mit Kopien von Aktivierungen</translation>
    </message>
    <message>
        <source>%1 with weights on the host over %2</source>
        <translation>%1 mit Gewichten auf dem Host über %2</translation>
    </message>
    <message>
        <source>%1 with weights on the host</source>
        <translation>%1 mit Gewichten auf dem Host</translation>
    </message>
    <message>
        <source>%1 with copies of activations and weights over %2</source>
        <translation>%1 mit Kopien von Aktivierungen und Gewichten über %2</translation>
    </message>
    <message>
        <source>%1 with copies of activations and weights</source>
        <translation>%1 mit Kopien von Aktivierungen und Gewichten</translation>
    </message>
    <message>
        <source>time added by recomputation and copies</source>
        <translation>Mehrzeit durch Neuberechnung und Kopien</translation>
    </message>
    <message>
        <source>on the host</source>
        <translation>auf dem Host</translation>
    </message>
    <message>
        <source>there before the trace begins</source>
        <translation>da, bevor die Aufzeichnung beginnt</translation>
    </message>
    <message>
        <source>no frames recorded</source>
        <translation>keine Aufrufe aufgezeichnet</translation>
    </message>
    <message>
        <source>all other places</source>
        <translation>alle anderen Stellen</translation>
    </message>
    <message>
        <source>event %1</source>
        <translation>Ereignis %1</translation>
    </message>
    <message>
        <source>alive after event %1</source>
        <translation>belegt nach Ereignis %1</translation>
    </message>
    <message>
        <source>alive at the peak</source>
        <translation>belegt an der Spitze</translation>
    </message>
    <message>
        <source>allocated, as requested</source>
        <translation>belegt, wie angefordert</translation>
    </message>
    <message>
        <source>reserved</source>
        <translation>reserviert</translation>
    </message>
    <message>
        <source>memory ran out</source>
        <translation>der Speicher ging aus</translation>
    </message>
    <message>
        <source>the plan, over the step of the peak</source>
        <translation>der Plan, über dem Schritt der Spitze</translation>
    </message>
    <message>
        <source>and %1 more</source>
        <translation>und %1 weitere</translation>
    </message>
    <message>
        <source>loss</source>
        <translation>Verlust</translation>
    </message>
    <message>
        <source>optimizer</source>
        <translation>Optimierer</translation>
    </message>
    <message>
        <source>tensor</source>
        <translation>Tensor</translation>
    </message>
    <message>
        <source>bytes</source>
        <translation>Bytes</translation>
    </message>
    <message>
        <source>idle %1</source>
        <translation>ruht %1</translation>
    </message>
    <message>
        <source>%1 more, %2</source>
        <translation>%1 weitere, %2</translation>
    </message>
    <message>
        <source>step %1</source>
        <translation>Schritt %1</translation>
    </message>
    <message>
        <source>what the plan foretells</source>
        <translation>was der Plan voraussagt</translation>
    </message>
    <message>
        <source>budget</source>
        <translation>Budget</translation>
    </message>
    <message>
        <source>a plan</source>
        <translation>ein Plan</translation>
    </message>
    <message>
        <source>the original</source>
        <translation>das Original</translation>
    </message>
    <message>
        <source>online eviction</source>
        <translation>Verdrängung im Lauf</translation>
    </message>
    <message>
        <source>the original, recorded</source>
        <translation>das Original, aufgezeichnet</translation>
    </message>
    <message>
        <source>the original, compared</source>
        <translation>das Original, verglichen</translation>
    </message>
    <message>
        <source>without gradients</source>
        <translation>ohne Gradienten</translation>
    </message>
    <message>
        <source>queue %1</source>
        <translation>Warteschlange %1</translation>
    </message>
</context>
<context>
    <name>PictureOrTable</name>
    <message>
        <source>Nothing is selected</source>
        <translation>Nichts ist ausgewählt</translation>
    </message>
    <message>
        <source>Show it as a table, or as a picture</source>
        <translation>Als Tabelle oder als Bild zeigen</translation>
    </message>
    <message>
        <source>%1 as a table</source>
        <translation>%1 als Tabelle</translation>
    </message>
    <message>
        <source>&amp;Copy the rows</source>
        <translation>Zeilen &amp;kopieren</translation>
    </message>
</context>
<context>
    <name>PinList</name>
    <message>
        <source>Pin: always keep</source>
        <translation>Festlegen: immer behalten</translation>
    </message>
    <message>
        <source>Pin: always recompute</source>
        <translation>Festlegen: immer neu berechnen</translation>
    </message>
    <message>
        <source>Pin all like it: keep %1</source>
        <translation>Alle dieser Art festlegen: %1 behalten</translation>
    </message>
    <message>
        <source>Pin all like it: recompute %1</source>
        <translation>Alle dieser Art festlegen: %1 neu berechnen</translation>
    </message>
    <message>
        <source>No pin</source>
        <translation>Nicht festlegen</translation>
    </message>
    <message>
        <source>keep %1</source>
        <translation>%1 behalten</translation>
    </message>
    <message>
        <source>recompute %1</source>
        <translation>%1 neu berechnen</translation>
    </message>
    <message>
        <source>%1 (does nothing)</source>
        <translation>%1 (bewirkt nichts)</translation>
    </message>
</context>
<context>
    <name>PinsBox</name>
    <message>
        <source>Pins</source>
        <translation>Festlegungen</translation>
    </message>
    <message>
        <source>What the next schedule must keep or recompute, whatever the solver thinks</source>
        <translation>Was der nächste Ablauf behalten oder neu berechnen muss, was immer der Löser meint</translation>
    </message>
    <message>
        <source>Remove all</source>
        <translation>Alle entfernen</translation>
    </message>
    <message>
        <source>Remove the pin</source>
        <translation>Die Festlegung entfernen</translation>
    </message>
    <message>
        <source>They came with plan %1. The next schedule obeys them too.</source>
        <translation>Sie kamen mit Plan %1. Auch der nächste Ablauf hält sich daran.</translation>
    </message>
</context>
<context>
    <name>PlanList</name>
    <message>
        <source>all kept</source>
        <translation>alles behalten</translation>
    </message>
    <message>
        <source>solved</source>
        <translation>gelöst</translation>
    </message>
    <message>
        <source>found by a sweep</source>
        <translation>in einer Reihe gefunden</translation>
    </message>
    <message>
        <source>opened</source>
        <translation>geöffnet</translation>
    </message>
    <message>
        <source>Starred: sweeps leave it</source>
        <translation>Mit Stern: Reihen lassen ihn stehen</translation>
    </message>
    <message>
        <source>Click to star</source>
        <translation>Ein Klick gibt einen Stern</translation>
    </message>
    <message>
        <source>%1 by %2</source>
        <translation>%1 von %2</translation>
    </message>
    <message>
        <source>starred</source>
        <translation>mit Stern</translation>
    </message>
    <message>
        <source>not starred</source>
        <translation>ohne Stern</translation>
    </message>
    <message>
        <source>Starred plans</source>
        <translation>Pläne mit Stern</translation>
    </message>
    <message>
        <source>Plan</source>
        <translation>Plan</translation>
    </message>
    <message>
        <source>Its name; F2 changes it</source>
        <translation>Sein Name; F2 ändert ihn</translation>
    </message>
    <message>
        <source>Peak</source>
        <translation>Spitze</translation>
    </message>
    <message>
        <source>The most memory that it holds</source>
        <translation>Der meiste Speicher, den er belegt</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>Zeit</translation>
    </message>
    <message>
        <source>What it takes longer than the step without recomputation</source>
        <translation>Was er länger braucht als der Schritt ohne Neuberechnung</translation>
    </message>
    <message>
        <source>At best</source>
        <translation>Bestenfalls</translation>
    </message>
    <message>
        <source>No schedule within the budget, and under the pins where there are any, takes less</source>
        <translation>Kein Ablauf im Budget, und mit den Festlegungen, wo es welche gibt, braucht weniger</translation>
    </message>
    <message>
        <source>Budget</source>
        <translation>Budget</translation>
    </message>
    <message>
        <source>What it was asked to keep</source>
        <translation>Was er einhalten sollte</translation>
    </message>
    <message>
        <source>Solver</source>
        <translation>Löser</translation>
    </message>
    <message>
        <source>What found it</source>
        <translation>Was ihn gefunden hat</translation>
    </message>
    <message>
        <source>Found in</source>
        <translation>Gefunden in</translation>
    </message>
    <message>
        <source>How long the solver took</source>
        <translation>Wie lange der Löser brauchte</translation>
    </message>
    <message>
        <source>%1 at %2</source>
        <translation>%1 bei %2</translation>
    </message>
    <message>
        <source>best so far, found</source>
        <translation>bisher bester, gefunden</translation>
    </message>
    <message>
        <source>%1, best so far</source>
        <translation>%1, bisher bester</translation>
    </message>
</context>
<context>
    <name>PlansView</name>
    <message>
        <source>Plan shown be&amp;fore</source>
        <translation>Plan, der &amp;davor gezeigt war</translation>
    </message>
    <message>
        <source>Plan shown &amp;after</source>
        <translation>Plan, der dana&amp;ch gezeigt war</translation>
    </message>
    <message>
        <source>&amp;Remove the plan</source>
        <translation>Plan &amp;entfernen</translation>
    </message>
    <message>
        <source>&amp;Undo the removal</source>
        <translation>Entfernen &amp;rückgängig</translation>
    </message>
    <message>
        <source>Rename the pla&amp;n</source>
        <translation>Plan &amp;umbenennen</translation>
    </message>
    <message>
        <source>Compare the shown plan with &amp;it</source>
        <translation>Den gezeigten Plan mit &amp;ihm vergleichen</translation>
    </message>
    <message>
        <source>Plans</source>
        <translation>Pläne</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>Zeigen</translation>
    </message>
    <message>
        <source>Plans that sweeps found: each is a point under Trade-off, too. A star keeps one in the list.</source>
        <translation>Pläne, die Reihen gefunden haben: jeder ist auch ein Punkt unter Abwägung. Ein Stern behält einen in der Liste.</translation>
    </message>
    <message>
        <source>%1 of sweeps</source>
        <translation>%1 aus Reihen</translation>
    </message>
</context>
<context>
    <name>PythonReader</name>
    <message>
        <source>%1 cannot be started: %2</source>
        <translation>%1 lässt sich nicht starten: %2</translation>
    </message>
    <message>
        <source>%1 is no Python that can be asked</source>
        <translation>%1 ist kein Python, das gefragt werden kann</translation>
    </message>
    <message>
        <source>%1 is no Python that can be asked: %2</source>
        <translation>%1 ist kein Python, das gefragt werden kann: %2</translation>
    </message>
    <message>
        <source>%1, Python %2, lacks %3: name the Python of the environment that trains, or install there what is missing (pip install torch; pip install rematlas-....whl).</source>
        <translation>%1, Python %2, fehlt %3: das Python der Umgebung nennen, in der trainiert wird, oder dort installieren, was fehlt (pip install torch; pip install rematlas-....whl).</translation>
    </message>
    <message>
        <source> and </source>
        <translation> und </translation>
    </message>
    <message>
        <source>%1 on %2</source>
        <translation>%1 auf %2</translation>
    </message>
</context>
<context>
    <name>QDialog</name>
    <message>
        <source>About Rematlas Explorer</source>
        <translation>Über Rematlas Explorer</translation>
    </message>
    <message>
        <source>Rematlas Explorer %1</source>
        <translation>Rematlas Explorer %1</translation>
    </message>
    <message>
        <source>Plans the memory of neural-network training: which tensors to keep, which to compute again and which to move to the host, so that one training step stays within a budget and gives the same gradients.

The sources of Rematlas are under the Apache License 2.0. Qt is used under the LGPL. Graphviz runs in a program of its own.

There is no warranty, to the extent permitted by law.</source>
        <translation>Plant den Speicher beim Training neuronaler Netze: welche Tensoren bleiben, welche neu berechnet und welche zum Host verschoben werden, damit ein Trainingsschritt in einem Budget bleibt und dieselben Gradienten ergibt.

Die Quellen von Rematlas stehen unter der Apache License 2.0. Qt wird unter der LGPL benutzt. Graphviz läuft in einem eigenen Programm.

Ohne Gewähr, soweit das Recht es erlaubt.</translation>
    </message>
    <message>
        <source>Keyboard shortcuts</source>
        <translation>Tastenkürzel</translation>
    </message>
    <message>
        <source>What</source>
        <translation>Was</translation>
    </message>
    <message>
        <source>Keys</source>
        <translation>Tasten</translation>
    </message>
</context>
<context>
    <name>RangeBrush</name>
    <message>
        <source>The whole step. Drag to choose the part that is shown, double click to show all.</source>
        <translation>Der ganze Schritt. Ziehen wählt den Teil, der gezeigt wird, ein Doppelklick zeigt alles.</translation>
    </message>
    <message>
        <source>Shown part of the step</source>
        <translation>Gezeigter Teil des Schritts</translation>
    </message>
</context>
<context>
    <name>RangeView</name>
    <message>
        <source>Zoom in</source>
        <translation>Vergrößern</translation>
    </message>
    <message>
        <source>Zoom out</source>
        <translation>Verkleinern</translation>
    </message>
    <message>
        <source>Show all</source>
        <translation>Alles zeigen</translation>
    </message>
    <message>
        <source>Click</source>
        <translation>Klick</translation>
    </message>
    <message>
        <source>Put the cursor there</source>
        <translation>Den Zeiger dorthin setzen</translation>
    </message>
    <message>
        <source>Wheel</source>
        <translation>Rad</translation>
    </message>
    <message>
        <source>Zoom</source>
        <translation>Vergrößern und verkleinern</translation>
    </message>
    <message>
        <source>Drag</source>
        <translation>Ziehen</translation>
    </message>
    <message>
        <source>Move the picture</source>
        <translation>Das Bild verschieben</translation>
    </message>
    <message>
        <source>Double click</source>
        <translation>Doppelklick</translation>
    </message>
</context>
<context>
    <name>RunStepsTable</name>
    <message>
        <source>Step</source>
        <translation>Schritt</translation>
    </message>
    <message>
        <source>From 0 on, as the model was called</source>
        <translation>Ab 0, wie das Modell aufgerufen wurde</translation>
    </message>
    <message>
        <source>Run by</source>
        <translation>Gelaufen durch</translation>
    </message>
    <message>
        <source>Who ran the step: a plan, or the original model</source>
        <translation>Wer den Schritt ausführte: ein Plan oder das ursprüngliche Modell</translation>
    </message>
    <message>
        <source>Peak</source>
        <translation>Spitze</translation>
    </message>
    <message>
        <source>Of all tensors of the process on the device, measured</source>
        <translation>Aller Tensoren des Prozesses auf dem Gerät, gemessen</translation>
    </message>
    <message>
        <source>Foretold</source>
        <translation>Vorausgesagt</translation>
    </message>
    <message>
        <source>The peak that the plan foretold, with what lived beside the step</source>
        <translation>Die Spitze, die der Plan voraussagte, mit dem, was neben dem Schritt lebte</translation>
    </message>
    <message>
        <source>Beyond</source>
        <translation>Darüber</translation>
    </message>
    <message>
        <source>The measured peak less what the plan foretold</source>
        <translation>Die gemessene Spitze weniger der vorausgesagten</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>Zeit</translation>
    </message>
    <message>
        <source>From the forward of the step to the next one</source>
        <translation>Vom Vorwärts des Schritts bis zum nächsten</translation>
    </message>
    <message>
        <source>Why</source>
        <translation>Warum</translation>
    </message>
    <message>
        <source>Why the original ran the step</source>
        <translation>Warum das Original den Schritt ausführte</translation>
    </message>
</context>
<context>
    <name>Session</name>
    <message>
        <source>%1 of %2</source>
        <translation>%1 von %2</translation>
    </message>
</context>
<context>
    <name>SolveController</name>
    <message>
        <source>The results of the step must all be there when it ends:</source>
        <translation>Die Ergebnisse des Schritts müssen am Ende alle da sein:</translation>
    </message>
    <message>
        <source>, in %1</source>
        <translation>, in %1</translation>
    </message>
    <message>
        <source>The memory is needed by %1 (op %2, %3%4):</source>
        <translation>Den Speicher braucht %1 (Op %2, %3%4):</translation>
    </message>
    <message>
        <source>%1 smaller ones take %2.</source>
        <translation>%1 kleinere belegen %2.</translation>
    </message>
    <message>
        <source>%1 of parameters, buffers and inputs stay all the time.</source>
        <translation>%1 an Parametern, Puffern und Eingaben bleiben die ganze Zeit.</translation>
    </message>
    <message>
        <source>No schedule fits in %1: at least %2 are needed, %3 more.</source>
        <translation>Kein Ablauf passt in %1: Mindestens %2 sind nötig, %3 mehr.</translation>
    </message>
    <message>
        <source>This solver found no schedule within %1.</source>
        <translation>Dieser Löser fand keinen Ablauf in %1.</translation>
    </message>
    <message>
        <source> It got down to %1.</source>
        <translation> Er kam bis %1 hinab.</translation>
    </message>
    <message>
        <source> No schedule at all can need less than %1.</source>
        <translation> Kein Ablauf überhaupt kann weniger als %1 brauchen.</translation>
    </message>
    <message>
        <source> This is under the pins: under them %1 is known to be enough, without them %2.</source>
        <translation> Das gilt mit den Festlegungen: mit ihnen reicht bekanntlich %1, ohne sie %2.</translation>
    </message>
</context>
<context>
    <name>SolvePanel</name>
    <message>
        <source>Copied</source>
        <translation>Kopiert</translation>
    </message>
    <message>
        <source>%1 to the host, %2 back</source>
        <translation>%1 zum Host, %2 zurück</translation>
    </message>
    <message>
        <source>On the host</source>
        <translation>Auf dem Host</translation>
    </message>
    <message>
        <source>at most %1</source>
        <translation>höchstens %1</translation>
    </message>
    <message>
        <source>not known</source>
        <translation>nicht bekannt</translation>
    </message>
    <message>
        <source>no schedule is faster</source>
        <translation>kein Ablauf ist schneller</translation>
    </message>
    <message>
        <source>less than 0.1 %</source>
        <translation>weniger als 0,1 %</translation>
    </message>
    <message>
        <source>%1, this is within %2</source>
        <translation>%1, dieser liegt höchstens %2 darüber</translation>
    </message>
    <message>
        <source>2GiB, 60% or bytes</source>
        <translation>2GiB, 60% oder Bytes</translation>
    </message>
    <message>
        <source>The most memory the step may hold: a size such as 2GiB or 512MiB, a share of the peak
without recomputation such as 60%, or plain bytes</source>
        <translation>Der meiste Speicher, den der Schritt belegen darf: eine Größe wie 2GiB oder 512MiB, ein Anteil der Spitze
ohne Neuberechnung wie 60% oder schlicht Bytes</translation>
    </message>
    <message>
        <source>Budget</source>
        <translation>Budget</translation>
    </message>
    <message>
        <source>The smallest budget for which a schedule is known</source>
        <translation>Das kleinste Budget, für das ein Ablauf bekannt ist</translation>
    </message>
    <message>
        <source>The peak when nothing is recomputed</source>
        <translation>Die Spitze, wenn nichts neu berechnet wird</translation>
    </message>
    <message>
        <source>Solver</source>
        <translation>Löser</translation>
    </message>
    <message>
        <source>Time limit</source>
        <translation>Zeitgrenze</translation>
    </message>
    <message>
        <source> s</source>
        <translation> s</translation>
    </message>
    <message>
        <source>The solver stops by then and hands over its best schedule</source>
        <translation>Dann hört der Löser auf und gibt seinen besten Ablauf</translation>
    </message>
    <message>
        <source>Solve</source>
        <translation>Lösen</translation>
    </message>
    <message>
        <source>Take best so far</source>
        <translation>Den besten nehmen</translation>
    </message>
    <message>
        <source>Stops the solver and shows the best schedule it has</source>
        <translation>Hält den Löser an und zeigt seinen besten Ablauf</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>%1 smallest</source>
        <translation>kleinstes %1</translation>
    </message>
    <message>
        <source>all kept %1</source>
        <translation>alles behalten %1</translation>
    </message>
    <message>
        <source>Looking for a first schedule</source>
        <translation>Ein erster Ablauf wird gesucht</translation>
    </message>
    <message>
        <source>Best so far %1 time, peak %2</source>
        <translation>Bisher bester: %1 Zeit, Spitze %2</translation>
    </message>
    <message>
        <source>; at best %1</source>
        <translation>; bestenfalls %1</translation>
    </message>
    <message>
        <source>Set a budget and press Solve. The trade-off panel tries many budgets at once.</source>
        <translation>Geben Sie ein Budget ein und drücken Sie Lösen. Die Abwägung versucht viele Budgets auf einmal.</translation>
    </message>
    <message>
        <source>Open a graph to plan its memory.</source>
        <translation>Öffnen Sie einen Graphen, um seinen Speicher zu planen.</translation>
    </message>
    <message>
        <source>time</source>
        <translation>Zeit</translation>
    </message>
    <message>
        <source>This schedule fails the check</source>
        <translation>Dieser Ablauf besteht die Prüfung nicht</translation>
    </message>
    <message>
        <source>Peak</source>
        <translation>Spitze</translation>
    </message>
    <message>
        <source>%1 (%2)</source>
        <translation>%1 (%2)</translation>
    </message>
    <message>
        <source>Step time</source>
        <translation>Zeit des Schritts</translation>
    </message>
    <message>
        <source>%1</source>
        <translation>%1</translation>
    </message>
    <message>
        <source>Recomputed</source>
        <translation>Neu berechnet</translation>
    </message>
    <message>
        <source>%1 runs, %2</source>
        <translation>%1 Läufe, %2</translation>
    </message>
    <message>
        <source>Best possible</source>
        <translation>Bestenfalls</translation>
    </message>
    <message>
        <source>Solved in</source>
        <translation>Gelöst in</translation>
    </message>
    <message>
        <source>Check</source>
        <translation>Prüfung</translation>
    </message>
    <message>
        <source>passed</source>
        <translation>bestanden</translation>
    </message>
    <message>
        <source>no schedule under its pins is faster</source>
        <translation>mit seinen Festlegungen ist kein Ablauf schneller</translation>
    </message>
    <message>
        <source>Pinned</source>
        <translation>Festgelegt</translation>
    </message>
    <message>
        <source>Best under the pins</source>
        <translation>Bestmöglich mit den Festlegungen</translation>
    </message>
    <message>
        <source>Waits</source>
        <translation>Wartet</translation>
    </message>
    <message>
        <source>%1 for copies</source>
        <translation>%1 auf Kopien</translation>
    </message>
</context>
<context>
    <name>Status</name>
    <message>
        <source>best possible</source>
        <translation>bestmöglich</translation>
    </message>
    <message>
        <source>found</source>
        <translation>gefunden</translation>
    </message>
    <message>
        <source>nothing fits</source>
        <translation>nichts passt</translation>
    </message>
</context>
<context>
    <name>StepsTable</name>
    <message>
        <source>Step</source>
        <translation>Schritt</translation>
    </message>
    <message>
        <source>Its place in the schedule</source>
        <translation>Sein Platz im Ablauf</translation>
    </message>
    <message>
        <source>What</source>
        <translation>Was</translation>
    </message>
    <message>
        <source>What happens in it</source>
        <translation>Was darin geschieht</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>Name</translation>
    </message>
    <message>
        <source>The op that runs, or the tensor</source>
        <translation>Die Op, die läuft, oder der Tensor</translation>
    </message>
    <message>
        <source>Module</source>
        <translation>Modul</translation>
    </message>
    <message>
        <source>Of the op that runs, or that made the tensor</source>
        <translation>Der Op, die läuft oder den Tensor erzeugt hat</translation>
    </message>
    <message>
        <source>Phase</source>
        <translation>Phase</translation>
    </message>
    <message>
        <source>Of the training step</source>
        <translation>Des Trainingsschritts</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>Beginn</translation>
    </message>
    <message>
        <source>Since the training step began</source>
        <translation>Seit Beginn des Trainingsschritts</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>Zeit</translation>
    </message>
    <message>
        <source>That it takes</source>
        <translation>Die er braucht</translation>
    </message>
    <message>
        <source>Held during</source>
        <translation>Belegt während</translation>
    </message>
    <message>
        <source>Memory held while it runs</source>
        <translation>Speicher, der belegt ist, während er läuft</translation>
    </message>
    <message>
        <source>Held after</source>
        <translation>Belegt danach</translation>
    </message>
    <message>
        <source>Memory held when it is over</source>
        <translation>Speicher, der danach belegt ist</translation>
    </message>
    <message>
        <source>free</source>
        <translation>freigeben</translation>
    </message>
    <message>
        <source>copy to host</source>
        <translation>zum Host kopieren</translation>
    </message>
    <message>
        <source>copy to device</source>
        <translation>zum Gerät kopieren</translation>
    </message>
    <message>
        <source>run again</source>
        <translation>erneut ausführen</translation>
    </message>
    <message>
        <source>run in place</source>
        <translation>am Ort ausführen</translation>
    </message>
    <message>
        <source>run</source>
        <translation>ausführen</translation>
    </message>
    <message>
        <source>free on host</source>
        <translation>auf dem Host freigeben</translation>
    </message>
    <message>
        <source>run on host</source>
        <translation>auf dem Host ausführen</translation>
    </message>
    <message>
        <source>Line</source>
        <translation>Zeile</translation>
    </message>
    <message>
        <source>Of the model, where the op is called</source>
        <translation>Des Modells, die die Operation aufruft</translation>
    </message>
</context>
<context>
    <name>SweepPlot</name>
    <message>
        <source>%1: peak %2, %3 time
click to show this schedule</source>
        <translation>%1: Spitze %2, %3 Zeit
ein Klick zeigt diesen Ablauf</translation>
    </message>
    <message>
        <source>Trade-off</source>
        <translation>Abwägung</translation>
    </message>
    <message>
        <source>Go to the next point of the curve</source>
        <translation>Zum nächsten Punkt der Kurve</translation>
    </message>
    <message>
        <source>Go to the point before</source>
        <translation>Zum Punkt davor</translation>
    </message>
    <message>
        <source>Go to the next solver&apos;s curve</source>
        <translation>Zur Kurve des nächsten Lösers</translation>
    </message>
    <message>
        <source>Go to the curve before</source>
        <translation>Zur Kurve davor</translation>
    </message>
    <message>
        <source>Show the schedule of the point</source>
        <translation>Den Ablauf des Punktes zeigen</translation>
    </message>
    <message>
        <source>Show all</source>
        <translation>Alles zeigen</translation>
    </message>
    <message>
        <source>Click</source>
        <translation>Klick</translation>
    </message>
    <message>
        <source>Wheel</source>
        <translation>Rad</translation>
    </message>
    <message>
        <source>Zoom</source>
        <translation>Vergrößern und verkleinern</translation>
    </message>
    <message>
        <source>Drag</source>
        <translation>Ziehen</translation>
    </message>
    <message>
        <source>Move the picture</source>
        <translation>Das Bild verschieben</translation>
    </message>
    <message>
        <source>Double click</source>
        <translation>Doppelklick</translation>
    </message>
</context>
<context>
    <name>SweepTable</name>
    <message>
        <source>Solver</source>
        <translation>Löser</translation>
    </message>
    <message>
        <source>That looked for the schedule</source>
        <translation>Der den Ablauf gesucht hat</translation>
    </message>
    <message>
        <source>Budget</source>
        <translation>Budget</translation>
    </message>
    <message>
        <source>The most memory that was allowed</source>
        <translation>Der meiste Speicher, der erlaubt war</translation>
    </message>
    <message>
        <source>Result</source>
        <translation>Ergebnis</translation>
    </message>
    <message>
        <source>Whether a schedule was found, and whether it is proven to be the fastest</source>
        <translation>Ob ein Ablauf gefunden wurde und ob er bewiesen der schnellste ist</translation>
    </message>
    <message>
        <source>Peak</source>
        <translation>Spitze</translation>
    </message>
    <message>
        <source>The most memory that the schedule holds</source>
        <translation>Der meiste Speicher, den der Ablauf belegt</translation>
    </message>
    <message>
        <source>Added time</source>
        <translation>Mehrzeit</translation>
    </message>
    <message>
        <source>By recomputation, over the step without it</source>
        <translation>Durch Neuberechnung, gegenüber dem Schritt ohne sie</translation>
    </message>
    <message>
        <source>At best</source>
        <translation>Bestenfalls</translation>
    </message>
    <message>
        <source>Proven: no schedule within the budget adds less time</source>
        <translation>Bewiesen: Kein Ablauf im Budget braucht weniger Mehrzeit</translation>
    </message>
</context>
<context>
    <name>Tables</name>
    <message>
        <source>Schedule</source>
        <translation>Ablauf</translation>
    </message>
    <message>
        <source>Trade-off</source>
        <translation>Abwägung</translation>
    </message>
    <message>
        <source>Graph</source>
        <translation>Graph</translation>
    </message>
    <message>
        <source>Flame chart</source>
        <translation>Flammenbild</translation>
    </message>
    <message>
        <source>Lifetimes</source>
        <translation>Lebensdauer</translation>
    </message>
</context>
<context>
    <name>Tensor</name>
    <message>
        <source>%1 of op %2</source>
        <translation>%1 von Op %2</translation>
    </message>
    <message>
        <source>tensor %1</source>
        <translation>Tensor %1</translation>
    </message>
</context>
<context>
    <name>TensorKind</name>
    <message>
        <source>parameter</source>
        <translation>Parameter</translation>
    </message>
    <message>
        <source>buffer</source>
        <translation>Puffer</translation>
    </message>
    <message>
        <source>input</source>
        <translation>Eingabe</translation>
    </message>
    <message>
        <source>constant</source>
        <translation>Konstante</translation>
    </message>
    <message>
        <source>activation</source>
        <translation>Aktivierung</translation>
    </message>
    <message>
        <source>gradient</source>
        <translation>Gradient</translation>
    </message>
    <message>
        <source>optimizer_state</source>
        <translation>Zustand des Optimierers</translation>
    </message>
</context>
<context>
    <name>TradeoffView</name>
    <message>
        <source>Solvers</source>
        <translation>Löser</translation>
    </message>
    <message>
        <source>Which solvers the sweep compares</source>
        <translation>Welche Löser die Reihe vergleicht</translation>
    </message>
    <message>
        <source>Number of budgets</source>
        <translation>Anzahl der Budgets</translation>
    </message>
    <message>
        <source> budgets</source>
        <translation> Budgets</translation>
    </message>
    <message>
        <source>Time limit</source>
        <translation>Zeitgrenze</translation>
    </message>
    <message>
        <source> s</source>
        <translation> s</translation>
    </message>
    <message>
        <source>Time limit of the whole sweep</source>
        <translation>Zeitgrenze der ganzen Reihe</translation>
    </message>
    <message>
        <source>Sweep</source>
        <translation>Reihe</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Anhalten</translation>
    </message>
    <message>
        <source>Open a graph to compare budgets.</source>
        <translation>Öffnen Sie einen Graphen, um Budgets zu vergleichen.</translation>
    </message>
    <message>
        <source>Sweeping; points appear as they are found.</source>
        <translation>Die Reihe läuft; Punkte erscheinen, sobald sie gefunden sind.</translation>
    </message>
    <message>
        <source>Sweep to see what each budget costs in time.
A click on a point shows its schedule.</source>
        <translation>Eine Reihe zeigt, was jedes Budget an Zeit kostet.
Ein Klick auf einen Punkt zeigt seinen Ablauf.</translation>
    </message>
    <message>
        <source>Copies</source>
        <translation>Kopien</translation>
    </message>
    <message>
        <source>What schedules may copy to the host: a curve for each, of the solvers that plan such copies</source>
        <translation>Was Abläufe zum Host kopieren dürfen: je eine Kurve, von den Lösern, die solche Kopien planen</translation>
    </message>
    <message>
        <source>none</source>
        <translation>keine</translation>
    </message>
    <message>
        <source>activations</source>
        <translation>Aktivierungen</translation>
    </message>
    <message>
        <source>weights</source>
        <translation>Gewichte</translation>
    </message>
    <message>
        <source>activations and weights</source>
        <translation>Aktivierungen und Gewichte</translation>
    </message>
    <message>
        <source>over %1, the link under Solve</source>
        <translation>über %1, die Verbindung unter Lösen</translation>
    </message>
</context>
<context>
    <name>WelcomePage</name>
    <message>
        <source>Rematlas</source>
        <translation>Rematlas</translation>
    </message>
    <message>
        <source>Open a model or graph</source>
        <translation>Ein Modell oder einen Graphen öffnen</translation>
    </message>
    <message>
        <source>Recent files</source>
        <translation>Zuletzt geöffnet</translation>
    </message>
    <message>
        <source>See what the memory of a training step is spent on, and plan it under a budget
by recomputing and offloading, with the same gradients.</source>
        <translation>Zeigt, wofür ein Trainingsschritt seinen Speicher braucht, und plant ihn unter einem Budget
durch Neuberechnen und Auslagern, mit denselben Gradienten.</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Look at a sample</source>
        <translation>Ein Beispiel ansehen</translation>
    </message>
    <message>
        <source>A small GPT, captured on a CPU</source>
        <translation>Ein kleines GPT, auf einer CPU aufgenommen</translation>
    </message>
    <message>
        <source>or drop a file on this window: a model (.pt, .pt2, or .py with a function that returns it),
a training graph (.graph.json), a schedule (.schedule.json), a sweep (.sweep.json)
or a plan (.plan).</source>
        <translation>oder eine Datei auf dieses Fenster ziehen: ein Modell (.pt, .pt2, oder .py mit einer Funktion, die es zurückgibt),
einen Trainingsgraphen (.graph.json), einen Ablauf (.schedule.json), eine Reihe (.sweep.json)
oder einen Plan (.plan).</translation>
    </message>
</context>
<context>
    <name>WhyPanel</name>
    <message>
        <source>it is so now</source>
        <translation>ist schon so</translation>
    </message>
    <message>
        <source>the backward pass does not read it</source>
        <translation>die Rückwärtsrechnung liest es nicht</translation>
    </message>
    <message>
        <source>%1 time, %2 at the peak</source>
        <translation>%1 Zeit, %2 an der Spitze</translation>
    </message>
    <message>
        <source>%1 over the budget</source>
        <translation>%1 über dem Budget</translation>
    </message>
    <message>
        <source>always keep</source>
        <translation>immer behalten</translation>
    </message>
    <message>
        <source>always recompute</source>
        <translation>immer neu berechnen</translation>
    </message>
    <message>
        <source>Select a block or an op to see why the plan keeps or recomputes what it makes.</source>
        <translation>Wählen Sie einen Block oder eine Op, um zu sehen, warum der Plan behält oder neu berechnet, was sie erzeugt.</translation>
    </message>
    <message>
        <source>Lies unused</source>
        <translation>Liegt ungenutzt</translation>
    </message>
    <message>
        <source>up to %1</source>
        <translation>bis zu %1</translation>
    </message>
    <message>
        <source>never</source>
        <translation>nie</translation>
    </message>
    <message>
        <source>Unused at the peak</source>
        <translation>An der Spitze ungenutzt</translation>
    </message>
    <message>
        <source>Pinned</source>
        <translation>Festgelegt</translation>
    </message>
    <message>
        <source>If it is kept</source>
        <translation>Wenn behalten</translation>
    </message>
    <message>
        <source>If it is recomputed</source>
        <translation>Wenn neu berechnet</translation>
    </message>
    <message>
        <source>Keep</source>
        <translation>Behalten</translation>
    </message>
    <message>
        <source>Pins it: whatever solves next makes it once and holds it</source>
        <translation>Legt es fest: was als Nächstes plant, erzeugt es einmal und hält es</translation>
    </message>
    <message>
        <source>Recompute</source>
        <translation>Neu berechnen</translation>
    </message>
    <message>
        <source>Pins it: whatever solves next makes it again for the backward pass</source>
        <translation>Legt es fest: was als Nächstes plant, erzeugt es für den Rückwärtslauf noch einmal</translation>
    </message>
    <message>
        <source>No pin</source>
        <translation>Nicht festlegen</translation>
    </message>
    <message>
        <source>Leaves the decision to the solver</source>
        <translation>Überlässt die Entscheidung dem Löser</translation>
    </message>
    <message>
        <source>not possible</source>
        <translation>nicht möglich</translation>
    </message>
    <message>
        <source>Waits for copies</source>
        <translation>Wartet auf Kopien</translation>
    </message>
    <message>
        <source>%1, most for %2</source>
        <translation>%1, am längsten auf %2</translation>
    </message>
</context>
</TS>
